"""Pods that nobody else would end or delete: podgc with an API server."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.cluster.controllers.setup import Options
from steersman.objects.resources import NODES, PODS
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.support.manifests import pod

Object = dict[str, Any]

collected = with_workloads("podgc")


def held(name: str, **spec: Any) -> Object:
    """A pod whose end can be looked at."""
    made = pod(name, **spec)
    return {**made, "metadata": {**made["metadata"], "finalizers": ["example.com/held"]}}


async def _ended(world: World, name: str) -> Object:
    async def ended() -> Object | None:
        found = await world.get(PODS, name)
        metadata = found["metadata"]
        final = metadata.get("deletionGracePeriodSeconds") == 0 and "deletionTimestamp" in metadata
        return found if final and found["status"]["phase"] == "Failed" else None

    found: Object = await world.until(ended)
    return found


@collected
async def test_pods_without_a_node_do_not_wait_for_one_to_go(world: World) -> None:
    await asyncio.sleep(1)
    world.nodes.let_go = world.nodes.bound = lambda pod: False
    await world.create(PODS, held("p"))
    await world.client.delete(PODS, "p", NAMESPACE)
    await _ended(world, "p")
    await world.quiet()


@collected
async def test_pods_of_a_node_that_is_gone_go_after_a_while(world: World) -> None:
    await world.add_nodes("node-1")
    await world.create(PODS, held("p"))

    async def running() -> bool:
        return (await world.get(PODS, "p"))["status"]["phase"] == "Running"

    await world.until(running)
    await world.client.delete(NODES, "node-1")
    await asyncio.sleep(39)
    assert await running()
    found = await _ended(world, "p")
    [condition] = [one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    told = (condition["status"], condition["reason"], condition["message"])
    assert told == ("True", "DeletionByPodGC", "PodGC: node no longer exists")
    await world.quiet()


@collected
async def test_a_node_that_comes_back_in_time_keeps_its_pods(world: World) -> None:
    await world.add_nodes("node-1")
    await world.create(PODS, held("p"))
    await asyncio.sleep(1)
    await world.client.delete(NODES, "node-1")
    await asyncio.sleep(30)
    await world.add_nodes("node-1")
    await asyncio.sleep(100)
    assert (await world.get(PODS, "p"))["status"]["phase"] == "Running"


@collected
async def test_deleted_pods_on_a_node_out_of_service_go(world: World) -> None:
    await world.add_nodes("node-1")
    await world.create(PODS, held("p", terminationGracePeriodSeconds=1000))
    await asyncio.sleep(1)
    world.nodes.let_go = lambda pod: False
    await world.client.delete(PODS, "p", NAMESPACE)
    await asyncio.sleep(10)
    assert (await world.get(PODS, "p"))["status"]["phase"] == "Running"
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    await world.client.patch(NODES, "node-1", {"spec": {"taints": [taint]}})
    await _ended(world, "p")


@with_workloads("podgc", options=Options(terminated_pods=3))
async def test_too_many_ended_pods_go_evicted_ones_first_then_the_oldest(world: World) -> None:
    await world.add_nodes("node-1")
    for number in range(5):
        await world.create(PODS, pod(f"p{number}"))
        await asyncio.sleep(1)
    await world.create(PODS, pod("running"))
    for number in range(5):
        reason = {"reason": "Evicted"} if number == 4 else {}
        await world.set_pod(f"p{number}", phase="Failed", **reason)

    async def left() -> bool:
        return await world.names(PODS) == ["p1", "p2", "p3", "running"]

    await world.until(left)
    await world.quiet()
