"""What operators do, seen from outside: in virtual time, against a real API server in process."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client, Invalid
from steersman.objects.builders import ConfigMap, Container, Deployment, Role, Service
from steersman.objects.custom import CustomResource
from steersman.objects.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, EVENTS
from steersman.operator import Action, Context, NewCondition, Operator, OperatorError, Requeue, TerminalError
from steersman.operator.assembly import Settings, serve
from steersman.runtime import Manager
from steersman.testing import Cluster, eventually, mark_ready, virtual_time
from tests.integration.operator.things import Status, Thing, thing

NOW = "2026-01-01T00:00:00Z"


class Calls:
    """An operator that notes what it is called for."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.reasons: list[tuple[str, ...]] = []
        self.operator = Operator(Thing).owns(ConfigMap)
        self.operator.reconcile(self.reconcile)

    async def reconcile(self, ctx: Context[Thing]) -> Action | None:
        self.names.append(ctx.name)
        self.reasons.append(ctx.reasons)
        await ctx.apply(ConfigMap(ctx.name).data("value", ctx.resource.spec.value))
        await ctx.set_status(Status(seen=ctx.resource.spec.value), NewCondition("Ready", "True", "Done"))
        return None


async def settled(cluster: Cluster) -> None:
    await cluster.clock.settle()


@virtual_time
async def test_one_change_is_one_reconcile_and_its_own_writes_are_none() -> None:
    calls = Calls()
    async with Cluster(controllers=()) as cluster, cluster.run_operator(calls.operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        assert calls.names == ["a"]
        await client.patch(Thing, "a", {"spec": {"value": "w"}})
        await settled(cluster)
        assert calls.names == ["a", "a"]
        assert (await client.get(ConfigMap, "a")).to_object()["data"] == {"value": "w"}
        found = await client.get(Thing, "a")
        assert (found.status.seen, found.status.observed_generation) == ("w", 2)
        assert found.status.conditions[0].observed_generation == 2


@virtual_time
async def test_children_that_others_change_or_delete_are_put_right() -> None:
    calls = Calls()
    async with Cluster(controllers=()) as cluster, cluster.run_operator(calls.operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        await client.patch(ConfigMap, "a", {"data": {"value": "other"}})
        await settled(cluster)
        assert (await client.get(ConfigMap, "a")).to_object()["data"] == {"value": "v"}
        await client.delete(ConfigMap, "a")
        await settled(cluster)
        assert (await client.get(ConfigMap, "a")).to_object()["data"] == {"value": "v"}
        assert [reasons[0].split()[-1] for reasons in calls.reasons[1:]] == ["modified", "deleted"]


@virtual_time
async def test_a_resync_of_what_is_converged_writes_nothing() -> None:
    calls = Calls()
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        async with cluster.run_operator(calls.operator):
            for number in range(20):
                await client.create(thing(f"t-{number}"))
            await settled(cluster)
            calls.names.clear()
            with cluster.assert_no_writes():
                await cluster.clock.advance(12 * 3600)
            assert set(calls.names) == {f"t-{number}" for number in range(20)}


@virtual_time
async def test_a_restarted_operator_writes_nothing_to_what_is_converged() -> None:
    operator = Operator(Thing).owns(Deployment)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        container = Container("app").image("nginx:1").port(80).raw("resources.limits.cpu", "1000m")
        await ctx.apply(Deployment(ctx.name).replicas(2).container(container))

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        async with cluster.run_operator(operator):
            await client.create(thing())
            await settled(cluster)
            await mark_ready(client, Deployment, "a")
        with cluster.assert_no_writes():
            async with cluster.run_operator(operator, install=False):
                await settled(cluster)


@virtual_time
async def test_what_the_server_spells_differently_is_written_once() -> None:
    operator = Operator(Thing).owns(ConfigMap)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        await ctx.apply(ConfigMap(ctx.name).raw("data", {}).raw("binaryData", {"k": "YQ=="}))

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        with cluster.assert_no_writes():
            await cluster.clock.advance(12 * 3600)


@pytest.mark.parametrize(
    "content",
    [{"data": {"k": "v"}}, {"data": {}, "binaryData": {"k": "YQ=="}}],
    ids=["answered as sent", "spelled differently"],
)
@virtual_time
async def test_what_others_add_to_a_child_is_no_reason_to_write(content: dict[str, Any]) -> None:
    operator = Operator(Thing).owns(ConfigMap)
    looked = 0

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        nonlocal looked
        looked += 1
        await ctx.apply(ConfigMap.from_object({"metadata": {"name": ctx.name}, **content}))

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        with cluster.record() as seen:
            await client.patch(ConfigMap, "a", {"metadata": {"annotations": {"note": "mine"}}})
            await settled(cluster)
        assert looked == 2
        assert len(seen.writes) == 1, seen.writes


@virtual_time
async def test_deletion_waits_for_on_delete_and_for_nothing_after_it() -> None:
    order: list[str] = []
    operator = Operator(Thing)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        order.append("reconcile")

    @operator.on_delete
    async def clean_up(ctx: Context[Thing]) -> Action | None:
        order.append("clean up")
        return Action.requeue(30) if len(order) < 3 else None

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        assert (await client.get(Thing, "a")).metadata.finalizers == ["thing.example.com/finalizer"]
        await client.delete(Thing, "a")
        await settled(cluster)
        assert await client.find(Thing, "a") is not None
        await cluster.clock.advance(31)
        assert await client.find(Thing, "a") is None
        assert order == ["reconcile", "clean up", "clean up"]


@virtual_time
async def test_requeues_and_errors_come_back_when_they_should() -> None:
    times: list[float] = []
    failing = True
    operator = Operator(Thing).requeue_after(300)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> Action | None:
        times.append(round(ctx.clock.monotonic() - start))
        if failing:
            raise RuntimeError("not yet")
        return None

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        start = cluster.clock.monotonic()
        await cluster.client().create(thing())
        await cluster.clock.advance(20)
        assert times == [0, 1, 3, 7, 15]
        failing = False
        await cluster.clock.advance(20)
        assert times[5:] == [31]
        await cluster.clock.advance(600)
        assert times[6:] == [331, 631]


@virtual_time
async def test_a_terminal_error_waits_for_a_change_and_requeue_may_be_raised() -> None:
    seen: list[str] = []
    operator = Operator(Thing).error_requeue(5)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        seen.append(ctx.resource.spec.value)
        if ctx.resource.spec.value == "bad":
            raise TerminalError("no such value")
        if len(seen) < 4:
            raise Requeue(10)

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        await client.create(thing(value="bad"))
        await cluster.clock.advance(600)
        assert seen == ["bad"]
        await client.patch(Thing, "a", {"spec": {"value": "good"}})
        await cluster.clock.advance(15)
        assert seen == ["bad", "good", "good"]


@virtual_time
async def test_an_object_that_does_not_fit_its_class_is_told_and_left_alone() -> None:
    calls = Calls()
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        definition = Thing.crd()
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        schema["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        await client.create(definition)
        async with cluster.run_operator(calls.operator, install=False):
            body = {**thing("bad").to_object(), "spec": {"replicas": "many"}}
            await eventually(lambda: client.create(body, kind=Thing.resource_type))
            await settled(cluster)
            await cluster.clock.advance(600)
            assert calls.names == []
            events = await client.list(EVENTS, "default")
            assert [event["reason"] for event in events] == ["InvalidObject"]
            assert "spec.replicas" in events[0]["note"]


@virtual_time
async def test_conditions_of_others_are_kept_when_the_status_is_written() -> None:
    calls = Calls()
    async with Cluster(controllers=()) as cluster, cluster.run_operator(calls.operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        other = {
            "type": "Audited",
            "status": "True",
            "reason": "Manual",
            "message": "",
            "lastTransitionTime": NOW,
        }
        ours = (await client.get(Thing.resource_type, "a"))["status"]["conditions"]
        await client.patch(Thing, "a", {"status": {"conditions": [*ours, other]}}, subresource="status")
        await client.patch(Thing, "a", {"spec": {"value": "w"}})
        await settled(cluster)
        conditions = (await client.get(Thing.resource_type, "a"))["status"]["conditions"]
        assert [condition["type"] for condition in conditions] == ["Ready", "Audited"]


@virtual_time
async def test_what_is_read_is_never_older_than_what_was_written() -> None:
    values: list[str | None] = []
    operator = Operator(Thing).owns(ConfigMap)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> Action:
        before = await ctx.get(ConfigMap, ctx.name)
        values.append(None if before is None else before.to_object()["data"]["n"])
        await ctx.apply(ConfigMap(ctx.name).data("n", str(len(values))))
        return Action.requeue(1)

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        async with cluster.run_operator(operator):
            with cluster.faults.lag_watches(60, ConfigMap):
                await client.create(thing())
                await cluster.clock.advance(10)
                assert values[:4] == [None, "1", "2", "3"]


@virtual_time
async def test_a_child_must_be_where_its_owner_is_seen() -> None:
    told: list[str] = []
    operator = Operator(Thing)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        try:
            await ctx.apply(ConfigMap("x", namespace="kube-system").data("a", "b"))
        except OperatorError as error:
            told.append(str(error))
        await ctx.apply(ConfigMap("x", namespace="kube-system").data("a", "b"), owned=False)

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        assert "cannot own ConfigMap x in namespace kube-system" in told[0]
        assert "ownerReferences" not in (await client.get(ConfigMap, "x", "kube-system")).metadata


@virtual_time
async def test_reading_listing_deleting_and_plain_dicts() -> None:
    found: dict[str, Any] = {}
    operator = Operator(Thing).owns(ConfigMap)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        for name in ("one", "two"):
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "labels": {"n": name}},
            }
            await ctx.apply(body)
        await ctx.apply(Role(ctx.name))
        found["all"] = sorted(each.name for each in await ctx.list(ConfigMap))
        found["labelled"] = [each["metadata"]["name"] for each in await ctx.list(CONFIG_MAPS, {"n": "two"})]
        found["children"] = sorted(each.name for each in await ctx.children(ConfigMap))
        found["uncached"] = [each.name for each in await ctx.children(Role)]
        await ctx.delete(ConfigMap, "one")
        await ctx.delete(ConfigMap, "never")
        await ctx.delete(Role(ctx.name))
        found["gone"] = await ctx.get(ConfigMap, "one")
        found["deployment"] = await ctx.get(DEPLOYMENTS, "nothing")

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        await cluster.client().create(thing())
        await settled(cluster)
    assert found["all"] == ["one", "two"]
    assert found["labelled"] == ["two"]
    assert found["children"] == ["one", "two"]
    assert found["uncached"] == ["a"]
    assert found["gone"] is None
    assert found["deployment"] is None


@virtual_time
async def test_timers_keep_their_times_and_daemons_live_as_long_as_their_object() -> None:
    ticks: list[float] = []
    running: set[str] = set()
    operator = Operator(Thing)

    @operator.timer(60)
    async def tick(ctx: Context[Thing]) -> None:
        ticks.append(ctx.clock.wall())

    @operator.daemon
    async def watch_over(ctx: Context[Thing]) -> None:
        running.add(ctx.name)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            running.discard(ctx.name)

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        async with cluster.run_operator(operator):
            await client.create(thing())
            await cluster.clock.advance(300)
            assert running == {"a"}
        assert running == set()
        first = len(ticks)
        assert 5 <= first <= 7
        async with cluster.run_operator(operator, install=False):
            await cluster.clock.advance(300)
            gaps = {round(later - earlier) % 60 for earlier, later in pairwise(ticks[1:])}
            assert gaps <= {0, 59, 1}
            await client.delete(Thing, "a")
            await settled(cluster)
            assert running == set()


@virtual_time
async def test_dependents_come_in_order_when_those_before_are_ready() -> None:
    operator = Operator(Thing)

    @operator.dependent(ConfigMap)
    async def settings(ctx: Context[Thing]) -> ConfigMap | None:
        return ConfigMap(f"{ctx.name}-settings") if ctx.resource.spec.value != "none" else None

    @operator.dependent(Deployment, after=settings, ready=lambda live: live.status.get("readyReplicas") == 1)
    async def workload(ctx: Context[Thing]) -> Deployment:
        return Deployment(ctx.name).replicas(1).container(Container("app").image("nginx:1"))

    @operator.dependent(Service, after=workload)
    async def service(ctx: Context[Thing]) -> Service:
        return Service(ctx.name).port(80, 80).selector(app=ctx.name)

    async def ready(client: Client) -> tuple[str, str]:
        condition = (await client.get(Thing, "a")).status.conditions[0]
        return condition.status, condition.message

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        assert await client.find(Service, "a") is None
        assert await ready(client) == ("False", "waiting for workload, service")
        await mark_ready(client, Deployment, "a")
        await settled(cluster)
        assert await client.find(Service, "a") is not None
        assert (await ready(client))[0] == "True"
        await client.patch(Thing, "a", {"spec": {"value": "none"}})
        await settled(cluster)
        assert await client.find(ConfigMap, "a-settings") is None


@virtual_time
async def test_several_operators_in_one_process_hear_each_other() -> None:
    class Other(CustomResource, group="example.com", version="v1"):
        pass

    seen: list[str] = []
    maker = Operator(Thing).owns(Other)

    @maker.reconcile
    async def make(ctx: Context[Thing]) -> None:
        await ctx.apply(Other.from_object({"metadata": {"name": f"{ctx.name}-other"}}))

    looker = Operator(Other)

    @looker.reconcile
    async def look(ctx: Context[Other]) -> None:
        seen.append(ctx.name)

    async with Cluster(controllers=()) as cluster, cluster.run_operator(maker, looker):
        await cluster.client().create(thing())
        await settled(cluster)
        assert seen == ["a-other"]


@virtual_time
async def test_a_change_of_another_kind_brings_back_those_it_concerns() -> None:
    reasons: list[tuple[str, ...]] = []
    operator = Operator(Thing).watches(
        ConfigMap, lambda change: [f"{change.key.namespace}/{name}" for name in ("a", "b")]
    )

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        reasons.append((ctx.name, *ctx.reasons))

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        await client.create(thing())
        await settled(cluster)
        reasons.clear()
        await client.create(ConfigMap("settings"))
        await settled(cluster)
        assert reasons == [("a", "ConfigMap default/settings added")]


@virtual_time
async def test_only_the_namespaces_and_labels_asked_for_are_looked_at() -> None:
    names: list[str] = []
    operator = Operator(Thing).in_namespaces("default").with_selector("watch=yes")

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        names.append(f"{ctx.namespace}/{ctx.name}")

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        client = cluster.client()
        for namespace, label in (("default", "yes"), ("default", "no"), ("kube-system", "yes")):
            obj = thing(f"t-{label}", namespace).to_object()
            obj["metadata"]["labels"] = {"watch": label}
            await client.create(obj)
        await settled(cluster)
        assert names == ["default/t-yes"]


@virtual_time
async def test_a_write_the_api_refuses_is_retried_and_says_why() -> None:
    errors: list[str] = []
    operator = Operator(Thing).error_requeue(10)

    @operator.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        try:
            await ctx.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not A Name"}})
        except Invalid as error:
            errors.append(str(error))
            raise

    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator):
        await cluster.client().create(thing())
        await cluster.clock.advance(25)
        assert len(errors) == 3
        assert "metadata.name" in errors[0]


@virtual_time
async def test_requests_to_the_api_are_counted_while_an_operator_is_served() -> None:
    calls = Calls()
    managers: list[Manager] = []
    stop = asyncio.Event()
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await client.create(Thing.crd(), kind=CUSTOM_RESOURCE_DEFINITIONS)
        own = cluster.client()
        settings = Settings(address=None)
        async with Scope() as scope:
            serving = scope.start(
                serve(
                    calls.operator,
                    client=own,
                    clock=cluster.clock,
                    settings=settings,
                    stop=stop,
                    started=managers.append,
                )
            )
            await client.create(thing())
            await cluster.clock.advance(60)
            assert calls.names == ["a"]
            stop.set()
            await serving
        before = managers[0].metrics.render()[0]
        lines = before.decode().splitlines()
        counted = [line for line in lines if line.startswith("rest_client_requests_total{")]
        assert any('method="PATCH"' in line and line.endswith(" 1.0") for line in counted), counted
        await own.get(Thing, "a")
        after = managers[0].metrics.render()[0].decode().splitlines()
        assert [line for line in after if line.startswith("rest_client_requests_total{")] == counted


@virtual_time
async def test_a_daemon_that_returns_is_done_with_its_object() -> None:
    started: list[str] = []
    operator = Operator(Thing)

    @operator.daemon
    async def look_once(ctx: Context[Thing]) -> None:
        started.append(ctx.name)

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        async with cluster.run_operator(operator):
            await client.create(thing())
            await cluster.clock.advance(600)
            await client.patch(Thing, "a", {"spec": {"value": "w"}})
            await cluster.clock.advance(600)
    assert started == ["a"]
