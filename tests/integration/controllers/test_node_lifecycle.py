"""Nodes that fall silent, are not ready and come back, with an API server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from steersman.aio import Scope
from steersman.client import NotFound
from steersman.objects.resources import EVENTS, NODES, PODS
from tests.integration.controllers.heartbeats import LivingNodes, ready_of, taints_of
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads

Object = dict[str, Any]

with_nodes = with_workloads("nodelifecycle", "taint-eviction")


@asynccontextmanager
async def living(world: World) -> AsyncIterator[LivingNodes]:
    nodes = LivingNodes(world)
    async with Scope() as scope:
        beating = scope.start(nodes.live())
        yield nodes
        beating.cancel()


async def until_tainted(world: World, name: str, *taints: str) -> Object:
    async def holds() -> Object | None:
        node = await world.client.get(NODES, name)
        return node if taints_of(node) == set(taints) else None

    try:
        found: Object = await world.until(holds)
    except AssertionError:
        raise AssertionError(taints_of(await world.client.get(NODES, name))) from None
    return found


async def pod_on(world: World, name: str, node: str, **spec: Any) -> None:
    containers = [{"name": "c", "image": "i"}]
    await world.create(
        PODS, {"metadata": {"name": name}, "spec": {"containers": containers, "nodeName": node, **spec}}
    )

    async def ready() -> bool:
        return ready_of(await world.get(PODS, name))["status"] == "True"

    async def holds() -> bool:
        pod = await world.get(PODS, name)
        return bool(pod["status"].get("conditions")) and await ready()

    await world.until(holds)


async def node_events(world: World, name: str) -> list[tuple[str, str]]:
    await asyncio.sleep(1)
    events = await world.client.list(EVENTS, "default")
    return [(one["reason"], one["note"]) for one in events if one["regarding"].get("name") == name]


@with_nodes
async def test_taints_follow_what_a_node_says(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1", "n2")
        await until_tainted(world, "n1")
        await nodes.report("n1", "True", MemoryPressure="True")
        await until_tainted(world, "n1", "memory-pressure:NoSchedule")
        await nodes.report("n1", "False", MemoryPressure="False")
        await until_tainted(world, "n1", "not-ready:NoSchedule", "not-ready:NoExecute")
        await nodes.report("n1", "True")
        await until_tainted(world, "n1")
        await world.client.patch(NODES, "n1", {"spec": {"unschedulable": True}})
        node = await until_tainted(world, "n1", "unschedulable:NoSchedule")
        assert node["spec"]["taints"][0]["timeAdded"]
        await world.client.patch(NODES, "n1", {"spec": {"unschedulable": None}})
        await until_tainted(world, "n1")
        await world.quiet(20)
    assert await node_events(world, "n1") == [
        ("RegisteredNode", "Node n1 event: Registered Node n1 in Controller")
    ]


@with_nodes
async def test_a_silent_node_is_unknown_and_loses_its_pods_in_time(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1", "n2")
        await until_tainted(world, "n1")
        await pod_on(world, "p", "n1")
        await pod_on(world, "stays", "n1", tolerations=[{"operator": "Exists"}])
        world.nodes.ready = world.nodes.let_go = lambda pod: False
        nodes.silent.add("n1")
        await asyncio.sleep(40)
        assert ready_of(await world.client.get(NODES, "n1"))["status"] == "True"
        node = await until_tainted(world, "n1", "unreachable:NoSchedule", "unreachable:NoExecute")
        told = ready_of(node)
        assert (told["status"], told["reason"]) == ("Unknown", "NodeStatusUnknown")
        for name in ("p", "stays"):
            await world.until(lambda name=name: is_unready(world, name))
        await asyncio.sleep(280)
        assert "deletionTimestamp" not in (await world.get(PODS, "p"))["metadata"]
        await asyncio.sleep(40)  # by then the five minutes that every pod tolerates are over
        pod = await world.get(PODS, "p")
        assert "deletionTimestamp" in pod["metadata"]
        [target] = [one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget"]
        assert target["reason"] == "DeletionByTaintManager"
        assert target["message"] == "Taint manager: deleting due to NoExecute taint"
        assert "deletionTimestamp" not in (await world.get(PODS, "stays"))["metadata"]
    told_of_pods = await world.events("Pod")
    assert ("NodeNotReady", "Node is not ready") in told_of_pods
    assert ("TaintManagerEviction", "Marking for deletion Pod default/p") in told_of_pods
    assert ("NodeNotReady", "Node n1 status is now: NodeNotReady") in await node_events(world, "n1")


async def is_unready(world: World, name: str) -> bool:
    return bool(ready_of(await world.get(PODS, name))["status"] == "False")


@with_nodes
async def test_a_node_that_is_back_in_time_keeps_its_pods(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1", "n2")
        await until_tainted(world, "n1")
        await pod_on(world, "p", "n1")
        nodes.silent.add("n1")
        await until_tainted(world, "n1", "unreachable:NoSchedule", "unreachable:NoExecute")
        await asyncio.sleep(60)
        nodes.silent.clear()
        await nodes.report("n1", "True", MemoryPressure="False", DiskPressure="False", PIDPressure="False")
        await until_tainted(world, "n1")
        await asyncio.sleep(400)
        assert "deletionTimestamp" not in (await world.get(PODS, "p"))["metadata"]
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/p") in await world.events("Pod")


@with_nodes
async def test_nobody_is_evicted_while_no_node_is_ready(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1", "n2")
        await until_tainted(world, "n1")
        nodes.silent.update({"n1", "n2"})
        await until_tainted(world, "n1", "unreachable:NoSchedule")
        await until_tainted(world, "n2", "unreachable:NoSchedule")
        await asyncio.sleep(600)
        await until_tainted(world, "n1", "unreachable:NoSchedule")
        nodes.silent.discard("n1")
        await nodes.report("n1", "True", MemoryPressure="False", DiskPressure="False", PIDPressure="False")
        await until_tainted(world, "n1")
        await until_tainted(world, "n2", "unreachable:NoSchedule", "unreachable:NoExecute")


@with_nodes
async def test_a_node_that_never_said_anything_is_given_a_minute(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1")
        await world.create(NODES, {"metadata": {"name": "mute"}})
        await asyncio.sleep(55)
        assert "conditions" not in (await world.client.get(NODES, "mute")).get("status", {})

        async def told() -> bool:
            conditions = (await world.client.get(NODES, "mute"))["status"].get("conditions") or []
            return {one["reason"] for one in conditions} == {"NodeStatusNeverUpdated"}

        await world.until(told, 20)


@with_nodes
async def test_nodes_that_are_deleted_are_told_of(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1", "n2")
        await until_tainted(world, "n1")
        await world.client.delete(NODES, "n1")
        await asyncio.sleep(1)
        assert ("RemovingNode", "Node n1 event: Removing Node n1 from Controller") in await node_events(
            world, "n1"
        )
        try:
            await world.client.get(NODES, "n1")
        except NotFound:
            return
        raise AssertionError("the node is still there")


@with_workloads("nodelifecycle")
async def test_nodes_get_the_labels_of_old(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1", **{"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"})

        async def labelled() -> bool:
            labels = (await world.client.get(NODES, "n1"))["metadata"]["labels"]
            copies = labels.get("beta.kubernetes.io/os"), labels.get("beta.kubernetes.io/arch")
            return copies == ("linux", "arm64")

        await world.until(labelled)


@with_nodes
async def test_pods_leave_when_a_taint_is_not_tolerated(world: World) -> None:
    async with living(world) as nodes:
        await nodes.add("n1", "n2")
        await until_tainted(world, "n1")
        for name, toleration in (
            ("now", []),
            ("later", [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]),
            ("never", [{"key": "k", "operator": "Exists", "effect": "NoExecute"}]),
        ):
            await pod_on(world, name, "n1", tolerations=toleration)
        taint = {"key": "k", "value": "v", "effect": "NoExecute"}
        await world.client.patch(NODES, "n1", {"spec": {"taints": [taint]}})
        await asyncio.sleep(20)
        assert await world.names(PODS) == ["later", "never"]
        await asyncio.sleep(20)
        assert await world.names(PODS) == ["never"]
        await pod_on_tainted(world)


async def pod_on_tainted(world: World) -> None:
    """A pod that comes to a tainted node leaves it, too."""
    containers = [{"name": "c", "image": "i"}]
    pod = {"metadata": {"name": "new"}, "spec": {"containers": containers, "nodeName": "n1"}}
    await world.client.create(pod, kind=PODS, namespace=NAMESPACE)

    async def gone() -> bool:
        return await world.client.find(PODS, "new", NAMESPACE) is None

    await world.until(gone)
