"""Nodes get their ranges of pod addresses."""

from __future__ import annotations

import asyncio

from steersman.cluster.controllers.setup import Options
from steersman.objects.resources import EVENTS, NODES
from tests.integration.controllers.workloads import World, with_workloads


async def ranges(world: World) -> dict[str, str]:
    return {
        node["metadata"]["name"]: node["spec"].get("podCIDR", "") for node in await world.client.list(NODES)
    }


@with_workloads("nodeipam")
async def test_every_node_has_its_own_range_and_keeps_it(world: World) -> None:
    await world.client.create({"metadata": {"name": "old"}, "spec": {"podCIDR": "10.244.0.0/24"}}, kind=NODES)
    for name in ("a", "b"):
        await world.client.create({"metadata": {"name": name}}, kind=NODES)

    async def given() -> bool:
        return all((await ranges(world)).values())

    await world.until(given)
    found = await ranges(world)
    assert found["old"] == "10.244.0.0/24"
    assert sorted(found.values()) == ["10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24"]
    node = await world.client.get(NODES, "a")
    assert node["spec"]["podCIDRs"] == [found["a"]]
    await world.quiet()


@with_workloads("nodeipam", options=Options(pod_cidr="10.9.0.0/23,fd00:9::/63"))
async def test_a_node_waits_until_another_one_leaves(world: World) -> None:
    for name in ("a", "b", "c"):
        await world.client.create({"metadata": {"name": name}}, kind=NODES)
        await asyncio.sleep(1)
    found = await ranges(world)
    assert (found["a"], found["b"], found["c"]) == ("10.9.0.0/24", "10.9.1.0/24", "")
    assert (await world.client.get(NODES, "b"))["spec"]["podCIDRs"] == ["10.9.1.0/24", "fd00:9:0:1::/64"]
    events = await world.client.list(EVENTS, "default")
    told = [event["note"] for event in events if event["reason"] == "CIDRNotAvailable"]
    assert told == ["Node c status is now: CIDRNotAvailable"]
    await world.client.delete(NODES, "a")

    async def given() -> bool:
        return (await ranges(world))["c"] == "10.9.0.0/24"

    await world.until(given)
