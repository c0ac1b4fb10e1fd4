"""ResourceQuota: charging, refusing, giving back, counting anew; also when many come at once."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.cluster.admission import Attributes
from steersman.cluster.admission.quota import LimitedResource, ResourceQuota, recalculate
from steersman.cluster.admission.quota.scopes import ScopeSelector
from steersman.objects.status import StatusError

from .conftest import Object, Stored, write
from .test_quota_evaluators import claim, pod


class Quotas(Stored):
    """Stored objects whose quotas are written by compare-and-swap, taking a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        #: Called before a write, to do what another process might.
        self.meanwhile: Callable[[], None] | None = None

    def quota(self, name: str, hard: Object, used: Object | None = None, **spec: Any) -> None:
        status = {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used}
        metadata = {"uid": f"uid-{name}", "namespace": "default", "resourceVersion": "1"}
        self.add("", "resourcequotas", name, metadata=metadata, spec={"hard": hard, **spec}, status=status)

    def list(self, group: str, plural: str, namespace: str = "") -> list[Object]:
        return copy.deepcopy([*super().list(group, plural, namespace)])

    async def update_status(self, old: Object, new: Object) -> bool:
        await asyncio.sleep(0)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        stored = self.objects["", "resourcequotas"]
        for index, quota in enumerate(stored):
            if quota["metadata"]["name"] == old["metadata"]["name"]:
                if quota["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
                    return False
                version = str(int(quota["metadata"]["resourceVersion"]) + 1)
                stored[index] = {**new, "metadata": {**new["metadata"], "resourceVersion": version}}
                self.writes += 1
                return True
        return False

    def used(self, name: str = "q") -> Object:
        (found,) = (q for q in self.objects["", "resourcequotas"] if q["metadata"]["name"] == name)
        used: Object = found["status"]["used"]
        return used


@pytest.fixture
def quotas() -> Quotas:
    return Quotas()


def run(quotas: Quotas, body: Callable[[ResourceQuota], Awaitable[None]], **options: Any) -> None:
    async def inside() -> None:
        async with Scope() as scope:
            await body(ResourceQuota(quotas, quotas.update_status, scope, **options))
            await scope.join()

    asyncio.run(inside())


async def charge(plugin: ResourceQuota, attributes: Attributes) -> Attributes:
    pending = plugin.validate(attributes)
    if pending is not None:
        await pending
    return attributes


async def refusal(plugin: ResourceQuota, attributes: Attributes) -> str:
    with pytest.raises(StatusError) as caught:
        await charge(plugin, attributes)
    return caught.value.message


def new_pod(**rest: Any) -> Attributes:
    return write("pods", pod(**rest))


def test_without_quotas_nothing_is_waited_for(quotas: Quotas) -> None:
    async def body(plugin: ResourceQuota) -> None:
        assert plugin.validate(new_pod()) is None
        quotas.quota("q", {"pods": "1"})
        assert plugin.validate(write("nodes", {}, namespace="")) is None

    run(quotas, body)


def test_a_write_is_charged_until_the_limit(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "2", "requests.cpu": "1"})

    async def body(plugin: ResourceQuota) -> None:
        await charge(plugin, new_pod(requests={"cpu": "400m"}))
        assert quotas.used() == {"pods": "1", "requests.cpu": "400m"}
        assert await refusal(plugin, new_pod(requests={"cpu": "601m"})) == (
            'pods "a" is forbidden: exceeded quota: q, requested: requests.cpu=601m, used: requests.cpu=400m, '
            "limited: requests.cpu=1"
        )
        await charge(plugin, new_pod(requests={"cpu": "600m"}))
        assert await refusal(plugin, new_pod(requests={"cpu": "1"})) == (
            'pods "a" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1, '
            "used: pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1"
        )
        assert quotas.used() == {"pods": "2", "requests.cpu": "1"}

    run(quotas, body)


def test_a_dry_run_is_checked_but_not_charged(quotas: Quotas) -> None:
    quotas.quota("q", {"configmaps": "1"})

    async def body(plugin: ResourceQuota) -> None:
        attributes = await charge(plugin, write("configmaps", {}, dry_run=True))
        assert attributes.pending == ()
        assert quotas.used() == {"configmaps": "0"}
        await charge(plugin, write("configmaps", {}))
        assert "exceeded quota" in await refusal(plugin, write("configmaps", {}, dry_run=True))

    run(quotas, body)


def test_a_hundred_at_once_never_exceed_the_limit(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "40"})
    quotas.quota("other", {"count/pods": "60"})

    async def body(plugin: ResourceQuota) -> None:
        results = await asyncio.gather(
            *(charge(plugin, new_pod()) for _ in range(100)), return_exceptions=True
        )
        refused = [result for result in results if isinstance(result, StatusError)]
        assert len(refused) == 60
        assert quotas.used() == {"pods": "40"}
        assert quotas.used("other") == {"count/pods": "40"}
        # Those who come together are written together.
        assert quotas.writes == 2

    run(quotas, body)


def test_other_namespaces_do_not_wait(quotas: Quotas) -> None:
    """Each namespace has its own queue: a charge elsewhere is decided while one is being written."""
    quotas.quota("q", {"pods": "5"})
    order: list[str] = []
    gate = asyncio.Event()
    slow = quotas.update_status

    async def update(old: Object, new: Object) -> bool:
        order.append("started")
        if len(order) == 1:
            await gate.wait()
        order.append("written")
        return await slow(old, new)

    async def inside() -> None:
        async with Scope() as scope:
            plugin = ResourceQuota(quotas, update, scope)
            first = scope.start(charge(plugin, new_pod()))
            while not order:
                await asyncio.sleep(0)
            second = scope.start(charge(plugin, write("pods", pod(), namespace="elsewhere")))
            while order != ["started", "started", "written"]:
                await asyncio.sleep(0)
            gate.set()
            await asyncio.gather(first, second, return_exceptions=True)

    asyncio.run(inside())


def test_a_failed_write_gives_back(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "1"})

    async def body(plugin: ResourceQuota) -> None:
        attributes = await charge(plugin, new_pod())
        assert quotas.used() == {"pods": "1"}
        await attributes.settle(stored=False)
        assert attributes.pending == ()
        # What was given back counts for the very next.
        attributes = await charge(plugin, new_pod())
        await attributes.settle(stored=True)

    run(quotas, body)
    assert quotas.used() == {"pods": "1"}


def test_a_client_that_leaves_is_not_charged(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "5"})

    async def body(plugin: ResourceQuota) -> None:
        waiting = asyncio.ensure_future(charge(plugin, new_pod()))
        while not quotas.writes:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(quotas, body)
    assert quotas.used() == {"pods": "0"}


def test_a_client_that_leaves_once_it_was_charged_gets_it_back(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "5"})

    async def body(plugin: ResourceQuota) -> None:
        waiting = asyncio.ensure_future(charge(plugin, new_pod()))
        await asyncio.sleep(0)
        while not plugin._ledger._desks["default"].pending:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(quotas, body)
    assert quotas.used() == {"pods": "0"}


def test_a_client_that_leaves_once_it_was_refused_has_left(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "0"})

    async def body(plugin: ResourceQuota) -> None:
        waiting = asyncio.ensure_future(charge(plugin, new_pod()))
        await asyncio.sleep(0)
        (request,) = plugin._ledger._desks["default"].waiting
        while not request.answer.done():
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(quotas, body)
    assert quotas.used() == {"pods": "0"}


def test_what_is_given_back_survives_a_conflict(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "5"})

    def meanwhile() -> None:
        (quota,) = quotas.objects["", "resourcequotas"]
        quota["metadata"]["resourceVersion"] = "7"
        quota["status"]["used"] = {"pods": "3"}

    async def body(plugin: ResourceQuota) -> None:
        attributes = await charge(plugin, new_pod())
        quotas.meanwhile = meanwhile
        await attributes.settle(stored=False)

    run(quotas, body)
    assert quotas.used() == {"pods": "2"}


def test_a_quota_changed_by_others_is_read_again(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "2"})
    quotas.quota("r", {"count/pods": "9"})

    def meanwhile() -> None:
        for quota in quotas.objects["", "resourcequotas"]:
            if quota["metadata"]["name"] == "r":
                quota["metadata"]["resourceVersion"] = "7"
                quota["status"]["used"] = {"count/pods": "5"}

    quotas.meanwhile = meanwhile

    async def body(plugin: ResourceQuota) -> None:
        await charge(plugin, new_pod())

    run(quotas, body)
    # The first quota was written in both tries, and charged once.
    assert quotas.used() == {"pods": "1"}
    assert quotas.used("r") == {"count/pods": "6"}


def test_losing_every_time_is_a_conflict(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "2"})

    async def never(old: Object, new: Object) -> bool:
        return False

    async def inside() -> None:
        async with Scope() as scope:
            plugin = ResourceQuota(quotas, never, scope)
            free = scope.start(charge(plugin, write("pods", pod(), dry_run=True)))
            assert "the object has been modified" in await refusal(plugin, new_pod())
            await free

    asyncio.run(inside())


def test_a_store_that_fails_fails_the_write_only(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "2"})
    broken = [True]

    async def update(old: Object, new: Object) -> bool:
        if broken.pop():
            raise OSError("disk")
        return await quotas.update_status(old, new)

    async def inside() -> None:
        async with Scope() as scope:
            plugin = ResourceQuota(quotas, update, scope)
            with pytest.raises(OSError, match="disk"):
                await charge(plugin, new_pod())
            broken.append(False)
            await charge(plugin, new_pod())

    asyncio.run(inside())
    assert quotas.used() == {"pods": "1"}


def test_an_update_is_charged_the_difference(quotas: Quotas) -> None:
    quotas.quota("q", {"requests.storage": "10Gi", "persistentvolumeclaims": "1"})

    def update(new: str, old: str, **rest: Any) -> Attributes:
        return write("persistentvolumeclaims", claim(new), operation="UPDATE", old=claim(old), **rest)

    async def body(plugin: ResourceQuota) -> None:
        await charge(plugin, write("persistentvolumeclaims", claim("4Gi")))
        await charge(plugin, update("6Gi", "4Gi"))
        assert quotas.used() == {"persistentvolumeclaims": "1", "requests.storage": "6Gi"}
        await charge(plugin, update("5Gi", "6Gi"))
        assert quotas.used()["requests.storage"] == "6Gi"
        assert "requested: requests.storage=6Gi, used: requests.storage=6Gi" in await refusal(
            plugin, update("12Gi", "6Gi")
        )
        # What the status reports has happened already.
        await charge(plugin, update("12Gi", "6Gi", subresource="status"))
        assert quotas.used()["requests.storage"] == "12Gi"

    run(quotas, body)


def test_a_pod_that_enters_a_scope_is_charged_whole(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "1"}, scopes=["Terminating"])

    async def body(plugin: ResourceQuota) -> None:
        await charge(plugin, new_pod())
        assert quotas.used() == {"pods": "0"}
        update = write("pods", pod(activeDeadlineSeconds=5), operation="UPDATE", old=pod())
        await charge(plugin, update)
        assert quotas.used() == {"pods": "1"}

    run(quotas, body)


def test_scopes_choose_the_quota(quotas: Quotas) -> None:
    chosen = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
    quotas.quota("high", {"pods": "1"}, scopeSelector=chosen)
    quotas.quota("rest", {"pods": "1"}, scopes=["BestEffort"])

    async def body(plugin: ResourceQuota) -> None:
        await charge(plugin, new_pod(requests={"cpu": "1"}, priorityClassName="high"))
        await charge(plugin, new_pod(requests={"cpu": "1"}))
        await charge(plugin, new_pod())
        assert "exceeded quota: high" in await refusal(plugin, new_pod(priorityClassName="high"))
        assert "exceeded quota: rest" in await refusal(plugin, new_pod())

    run(quotas, body)
    assert [quotas.used("high"), quotas.used("rest")] == [{"pods": "1"}, {"pods": "1"}]


def test_what_a_quota_demands(quotas: Quotas) -> None:
    quotas.quota("q", {"limits.cpu": "1", "limits.memory": "1Gi"})

    async def body(plugin: ResourceQuota) -> None:
        assert await refusal(plugin, new_pod()) == (
            'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c; limits.memory for: c'
        )

    run(quotas, body)


def test_a_quota_that_was_never_counted_refuses(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "1", "count/pods": "1"}, used={"pods": "0"})

    async def body(plugin: ResourceQuota) -> None:
        assert await refusal(plugin, new_pod()) == (
            'pods "a" is forbidden: status unknown for quota: q, resources: count/pods,pods'
        )

    run(quotas, body)


def test_negative_amounts_are_refused(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "1"})

    async def body(plugin: ResourceQuota) -> None:
        assert (await refusal(plugin, new_pod(requests={"cpu": "-1"}))).endswith(
            "quota usage is negative for resource(s): cpu,requests.cpu"
        )

    run(quotas, body)


def test_resources_limited_by_default_need_a_quota(quotas: Quotas) -> None:
    limited = [
        LimitedResource("", "persistentvolumeclaims", contains=("gold.storageclass",)),
        LimitedResource("", "pods", scopes=(ScopeSelector("PriorityClass", "In", ("high",)),)),
    ]

    async def body(plugin: ResourceQuota) -> None:
        gold = write("persistentvolumeclaims", claim("1Gi", "gold"))
        assert (await refusal(plugin, gold)).endswith(
            "insufficient quota to consume: gold.storageclass.storage.k8s.io/persistentvolumeclaims,"
            "gold.storageclass.storage.k8s.io/requests.storage"
        )
        await charge(plugin, write("persistentvolumeclaims", claim("1Gi")))
        assert await refusal(plugin, new_pod(priorityClassName="high")) == (
            "insufficient quota to match these scopes: [{PriorityClass In [high]}]"
        )
        await charge(plugin, new_pod())
        quotas.quota("q", {"pods": "1"}, scopes=["PriorityClass"])
        await charge(plugin, new_pod(priorityClassName="high"))

    run(quotas, body, limited=limited)


# --- Counting anew


def test_usage_is_counted_from_what_is_stored(quotas: Quotas) -> None:
    hard = {"pods": "5", "requests.cpu": "2", "count/widgets.example.com": "3", "requests.storage": "1Gi"}
    quotas.quota("q", hard, used={"pods": "9", "unknown": "1"})
    for name in ("a", "b"):
        quotas.add("", "pods", name, **{**pod({"cpu": "250m"}), "metadata": {}})
    quotas.add("example.com", "widgets", "w")
    (quota,) = quotas.list("", "resourcequotas")
    assert recalculate(quota, quotas)["status"] == {
        "hard": dict(sorted(hard.items())),
        "used": {
            "count/widgets.example.com": "1",
            "pods": "2",
            "requests.cpu": "500m",
            "requests.storage": "0",
        },
    }
    assert quota["status"]["used"]["pods"] == "9", "the quota given is left alone"


def test_what_nobody_can_count_stays_as_it_was(quotas: Quotas) -> None:
    hard = {"pods": "5", "count/pods": "5", "example.com/odd": "7"}
    quotas.quota("q", hard, used={"example.com/odd": "3"})
    asked = []

    class Recording(Quotas):
        def list(self, group: str, plural: str, namespace: str = "") -> list[Object]:
            asked.append((group, plural))
            return super().list(group, plural, namespace)

    (quota,) = quotas.list("", "resourcequotas")
    used = recalculate(quota, Recording())["status"]["used"]
    assert used == {"count/pods": "0", "example.com/odd": "3", "pods": "0"}
    assert asked == [("", "pods")]


def test_counting_follows_the_scopes(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "5"}, scopes=["NotBestEffort"])
    quotas.add("", "pods", "a", **{**pod({"cpu": "1"}), "metadata": {}})
    quotas.add("", "pods", "b", **{**pod(), "metadata": {}})
    (quota,) = quotas.list("", "resourcequotas")
    assert recalculate(quota, quotas)["status"]["used"] == {"pods": "1"}


def test_a_recount_tells_the_quotas(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "5"}, used={"pods": "5"})

    async def body(plugin: ResourceQuota) -> None:
        assert "exceeded" in await refusal(plugin, new_pod())
        await asyncio.gather(*(plugin.recount("default") for _ in range(10)))
        assert quotas.used() == {"pods": "0"}
        assert quotas.writes == 1
        await charge(plugin, new_pod())
        await plugin.recount("default")

    run(quotas, body)
    assert quotas.used() == {"pods": "1"}, "what is under way is not forgotten"


def test_nothing_is_kept_about_a_namespace_at_rest(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "5"})

    async def body(plugin: ResourceQuota) -> None:
        attributes = await charge(plugin, new_pod())
        await attributes.settle(stored=True)
        assert plugin._ledger._desks == {}

    run(quotas, body)


def test_what_is_counted_twice_while_under_way_is_counted_again(quotas: Quotas) -> None:
    quotas.quota("q", {"pods": "5"})

    async def body(plugin: ResourceQuota) -> None:
        attributes = await charge(plugin, new_pod())
        quotas.add("", "pods", "a", **{**pod(), "metadata": {}})
        await plugin.recount("default")
        assert quotas.used() == {"pods": "2"}
        await attributes.settle(stored=True)

    run(quotas, body)
    assert quotas.used() == {"pods": "1"}


@pytest.mark.parametrize(
    ("operation", "group", "plural", "subresource", "expected"),
    [
        ("CREATE", "", "pods", "", True),
        ("UPDATE", "", "pods", "", True),
        ("UPDATE", "", "pods", "resize", True),
        ("UPDATE", "", "pods", "status", False),
        ("CREATE", "", "pods", "eviction", False),
        ("UPDATE", "", "persistentvolumeclaims", "status", True),
        ("UPDATE", "", "services", "", True),
        ("UPDATE", "", "configmaps", "", False),
        ("CREATE", "example.com", "widgets", "", True),
        ("CREATE", "", "events", "", False),
        ("CREATE", "events.k8s.io", "events", "", False),
        ("CREATE", "", "namespaces", "", False),
        ("CREATE", "authorization.k8s.io", "localsubjectaccessreviews", "", False),
        ("DELETE", "", "pods", "", False),
    ],
)
def test_interest(
    quotas: Quotas, operation: str, group: str, plural: str, subresource: str, expected: bool
) -> None:
    async def body(plugin: ResourceQuota) -> None:
        assert plugin.handles(operation, group, plural, subresource) is expected

    run(quotas, body)
