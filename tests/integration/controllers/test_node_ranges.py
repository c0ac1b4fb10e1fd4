"""Nodes get their ranges of pod addresses."""

from __future__ import annotations

from steersman.objects.resources import NODES
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
