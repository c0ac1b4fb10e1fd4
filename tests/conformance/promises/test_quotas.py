"""Promises about ResourceQuotas: what is counted, what is refused, and how soon that shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from tests.conformance.promises.test_workloads import controller, workload
from tests.support.api import PATIENCE_S, ApiClient, Events, api, config_map
from tests.support.manifests import pod

from .keeping import NAMESPACE, Collection, Keeping, Object, newer, promised, until

EXTENDED = "example.com/dongle"
GOLD = "gold.storageclass.storage.k8s.io"
HARD = {
    "pods": "5",
    "services": "10",
    "services.nodeports": "1",
    "services.loadbalancers": "1",
    "replicationcontrollers": "10",
    "resourcequotas": "1",
    "cpu": "1",
    "memory": "500Mi",
    "configmaps": "10",
    "secrets": "10",
    "persistentvolumeclaims": "10",
    "requests.storage": "10Gi",
    "ephemeral-storage": "50Gi",
    f"{GOLD}/persistentvolumeclaims": "10",
    f"{GOLD}/requests.storage": "10Gi",
    "count/replicasets.apps": "5",
    f"requests.{EXTENDED}": "3",
}
REQUESTS = {"cpu": "500m", "memory": "200Mi"}
LIMITS = {"cpu": "1", "memory": "400Mi"}

_quotas = partial(Collection, version="v1", plural="resourcequotas", namespace=NAMESPACE)
_pods = partial(Collection, version="v1", plural="pods", namespace=NAMESPACE)


def _keep(test: Keeping) -> None:
    async def body() -> None:
        async with asyncio.timeout(PATIENCE_S * 3), api(controllers=("resourcequota",)) as client:
            await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            await test(client)

    asyncio.run(body())


def quota_promise(name: str) -> Callable[[Keeping], Callable[[], None]]:
    promised(f"ResourceQuota {name}")

    def decorate(test: Keeping) -> Callable[[], None]:
        def run() -> None:
            _keep(test)

        run.__name__, run.__doc__ = test.__name__, f"ResourceQuota {name}."
        return run

    return decorate


def quota(name: str = "test-quota", hard: Object | None = None, **metadata: Object) -> Object:
    return {"metadata": {"name": name, **metadata}, "spec": {"hard": HARD if hard is None else hard}}


def asking(name: str, requests: Object, limits: Object | None = None, **spec: object) -> Object:
    """A pod that asks for so much."""
    made = pod(name, nodeSelector={"x-test.k8s.io/unsatisfiable": "not-schedulable"}, **spec)
    made["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": limits or {}}
    return made


async def _used(client: ApiClient, used: Object, name: str = "test-quota") -> None:
    """Wait until a quota is counted and says so."""

    async def counted() -> bool:
        found = await _quotas(client).get(name)
        status = found.get("status") or {}
        if status.get("hard") != found["spec"]["hard"]:
            return False
        return all((status.get("used") or {}).get(what) == amount for what, amount in used.items())

    await until(counted)


@quota_promise("should create a ResourceQuota and ensure its status is promptly calculated.")
async def test_a_quota_is_counted(client: ApiClient) -> None:
    await _quotas(client).create(quota())
    await _used(client, {"resourcequotas": "1"})


def _service(name: str, kind: str, **spec: object) -> Object:
    return {"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}], **spec}}


@quota_promise("should create a ResourceQuota and capture the life of a service.")
async def test_services_are_counted_by_type(client: ApiClient) -> None:
    services = Collection(client, "v1", "services", NAMESPACE)
    await _quotas(client).create(quota())
    await _used(client, {"resourcequotas": "1"})
    await services.create(_service("test-service", "ClusterIP"))
    await services.create(_service("test-service-np", "NodePort"))
    await services.refused(_service("test-service-lb", "LoadBalancer"), 403)
    await _used(client, {"resourcequotas": "1", "services": "2", "services.nodeports": "1"})
    await services.delete("test-service")
    await services.delete("test-service-np")
    await _used(client, {"resourcequotas": "1", "services": "0", "services.nodeports": "0"})


LIVES = [
    ("secret", "v1", "secrets", "secrets", {"metadata": {"name": "x"}, "data": {"a": "Cg=="}}),
    ("configMap", "v1", "configmaps", "configmaps", config_map("x", a="b")),
    (
        "replication controller",
        "v1",
        "replicationcontrollers",
        "replicationcontrollers",
        controller("x", {"name": "x"}, 0),
    ),
    ("replica set", "apps/v1", "replicasets", "count/replicasets.apps", workload("x", {"name": "x"}, 0)),
]


@pytest.mark.parametrize(
    ("version", "plural", "counted_as", "obj"),
    [
        pytest.param(
            *rest,
            id=promised(f"ResourceQuota should create a ResourceQuota and capture the life of a {what}."),
        )
        for what, *rest in LIVES
    ],
)
def test_objects_count_while_they_live(version: str, plural: str, counted_as: str, obj: Object) -> None:
    async def test(client: ApiClient) -> None:
        objects = Collection(client, version, plural, NAMESPACE)
        await _quotas(client).create(quota())
        await _used(client, {"resourcequotas": "1", counted_as: "0"})
        await objects.create(obj)
        await _used(client, {counted_as: "1"})
        await objects.delete(obj["metadata"]["name"], {"propagationPolicy": "Background"})
        await _used(client, {counted_as: "0"})

    _keep(test)


@quota_promise("should create a ResourceQuota and capture the life of a pod.")
async def test_what_a_pod_asks_for_is_counted(client: ApiClient) -> None:
    pods = _pods(client)
    await _quotas(client).create(quota())
    await _used(client, {"resourcequotas": "1"})
    asked = {"cpu": "500m", "memory": "252Mi", "ephemeral-storage": "30Gi", EXTENDED: "2"}
    made = await pods.create(asking("test-pod", asked, {EXTENDED: "2"}))
    used = {
        "pods": "1",
        "cpu": "500m",
        "memory": "252Mi",
        "ephemeral-storage": "30Gi",
        f"requests.{EXTENDED}": "2",
    }
    await _used(client, used)
    await pods.refused(asking("fail-pod", {"cpu": "600m", "memory": "100Mi"}), 403)
    more = {"cpu": "500m", "memory": "100Mi", "ephemeral-storage": "30Gi", EXTENDED: "2"}
    await pods.refused(asking("fail-pod-for-extended-resource", more, {EXTENDED: "2"}), 403)
    made["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "100m", "memory": "100Mi"}
    code, _ = await client.ask("PUT", pods.of("test-pod"), made)
    assert code >= 400
    await _used(client, used)
    await pods.delete("test-pod", {"gracePeriodSeconds": 0})
    await _used(client, dict.fromkeys(used, "0"))


def _scoped(name: str, scope: str, *, amounts: bool) -> Object:
    hard = {"pods": "5"}
    if amounts:
        hard |= {"requests.cpu": "1", "requests.memory": "500Mi", "limits.cpu": "2", "limits.memory": "1Gi"}
    made = quota(name, hard)
    made["spec"]["scopes"] = [scope]
    return made


async def _counted_by(client: ApiClient, one: str, other: str, made: Object, used: Object) -> None:
    """A pod that the first quota counts as long as it lives, and the second one does not."""
    nothing = dict.fromkeys(used, "0")
    await _pods(client).create(made)
    await _used(client, used, one)
    await _used(client, nothing, other)
    await _pods(client).delete(made["metadata"]["name"], {"gracePeriodSeconds": 0})
    await _used(client, nothing, one)


@quota_promise("should verify ResourceQuota with terminating scopes.")
async def test_pods_that_end_by_themselves_are_counted_apart(client: ApiClient) -> None:
    ending, running = "quota-terminating", "quota-not-terminating"
    for name, scope in ((ending, "Terminating"), (running, "NotTerminating")):
        await _quotas(client).create(_scoped(name, scope, amounts=True))
        await _used(client, {"pods": "0"}, name)
    used = {"pods": "1", "requests.cpu": "500m", "requests.memory": "200Mi"}
    used |= {"limits.cpu": "1", "limits.memory": "400Mi"}
    await _counted_by(client, running, ending, asking("test-pod", REQUESTS, LIMITS), used)
    limited = asking("terminating-pod", REQUESTS, LIMITS, activeDeadlineSeconds=3600)
    await _counted_by(client, ending, running, limited, used)


@quota_promise("should verify ResourceQuota with best effort scope.")
async def test_pods_that_ask_for_nothing_are_counted_apart(client: ApiClient) -> None:
    best, not_best = "quota-besteffort", "quota-not-besteffort"
    for name, scope in ((best, "BestEffort"), (not_best, "NotBestEffort")):
        await _quotas(client).create(_scoped(name, scope, amounts=False))
        await _used(client, {"pods": "0"}, name)
    await _counted_by(client, best, not_best, asking("test-pod", {}), {"pods": "1"})
    burstable = asking("burstable-pod", REQUESTS, LIMITS)
    await _counted_by(client, not_best, best, burstable, {"pods": "1"})


@quota_promise("should be able to update and delete ResourceQuota.")
async def test_a_quota_is_updated_and_deleted(client: ApiClient) -> None:
    quotas = _quotas(client)
    for hard in ({"cpu": "1", "memory": "500Mi"}, {"cpu": "2", "memory": "1Gi"}):
        write = quotas.create if hard["cpu"] == "1" else quotas.replace
        assert (await write(quota(hard=hard)))["spec"]["hard"] == hard
        assert (await quotas.get("test-quota"))["spec"]["hard"] == hard
    await quotas.delete("test-quota")
    assert await quotas.gone("test-quota")


@quota_promise("should manage the lifecycle of a ResourceQuota")
async def test_a_quotas_life(client: ApiClient) -> None:
    quotas, label = _quotas(client), "e2e-rq-label=test-quota"
    hard = {"cpu": "1", "memory": "500Mi"}
    await quotas.create(quota(hard=hard, labels={"e2e-rq-label": "test-quota"}))
    assert (await quotas.get("test-quota"))["spec"]["hard"] == hard
    [listed] = await quotas.everywhere.list(label)
    patch = {"metadata": {"labels": {"test-quota": "patched"}}, "spec": {"hard": {"memory": "750Mi"}}}
    patched = await quotas.patch("test-quota", patch, "strategic")
    assert patched["metadata"]["labels"]["test-quota"] == "patched"
    assert patched["spec"]["hard"] == {"cpu": "1", "memory": "750Mi"}
    assert newer(patched, listed)
    await client.ok("DELETE", quotas.many(label))
    assert await quotas.gone("test-quota")


async def _seen(events: Events, hard: Object) -> None:
    while (await events.next())["object"].get("status", {}).get("hard") != hard:
        pass


@quota_promise("should apply changes to a resourcequota status")
async def test_a_quotas_status_is_changed_and_put_right(client: ApiClient) -> None:
    quotas, labels = _quotas(client), {"e2e-rq-label": "test-quota"}
    first, second, third = (
        {"cpu": "500m", "memory": "500Mi"},
        {"cpu": "1", "memory": "1Gi"},
        {"cpu": "2", "memory": "2Gi"},
    )
    async with quotas.watch("e2e-rq-label=test-quota") as events:
        assert (await quotas.create(quota(hard=first, labels=labels)))["spec"]["hard"] == first
        await quotas.change("test-quota", lambda one: {**one, "status": {"hard": first}}, "status")
        await _seen(events, first)
        await quotas.patch("test-quota", {"spec": {"hard": second}}, "strategic")
        await quotas.patch("test-quota", {"status": {"hard": second}}, "strategic", "status")
        await _seen(events, second)
        assert (await quotas.get("test-quota", "status"))["status"]["hard"] == second
        repatched = await quotas.patch("test-quota", {"status": {"hard": third}}, "strategic", "status")
        assert repatched["status"]["hard"] == third
        await _seen(events, third)
        # What should be is not changed by what is, which is put right.
        await _seen(events, second)
    assert (await quotas.get("test-quota"))["spec"]["hard"] == second
