"""Pods go where they cost least, and nowhere if that is too much."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from frugal import MOST, PRICE, SCHEDULER, Price, cents, frugal

from steersman import Client
from steersman.aio import Scope
from steersman.cluster.scheduler.framework import CycleState
from steersman.objects.resources import NODES, PODS
from steersman.testing import Cluster, eventually, virtual_time


@pytest.mark.parametrize(("text", "expected"), [("12", 12), ("", None), ("-1", None), ("cheap", None)])
def test_prices_are_whole_numbers(text: str, expected: int | None) -> None:
    assert cents({PRICE: text}, PRICE) == expected


@pytest.mark.parametrize(
    ("prices", "scores"),
    [([40, 10, 25], [0, 100, 50]), ([7, 7], [100, 100]), ([0, 30], [100, 0])],
)
def test_the_cheapest_node_gets_the_highest_score(prices: list[int], scores: list[int]) -> None:
    assert Price().normalize(CycleState(), None, prices) == scores  # type: ignore[arg-type]


@asynccontextmanager
async def nodes(*prices: int) -> AsyncIterator[Client]:
    """A cluster whose nodes have these prices, and the frugal scheduler beside its own."""
    async with Cluster(controllers=("all",), nodes=len(prices)) as cluster, Scope() as scope:
        client = cluster.client()
        for number, price in enumerate(prices, 1):
            name = f"node-{number}"
            await eventually(lambda name=name: client.find(NODES, name))
            await client.patch(NODES, name, {"metadata": {"labels": {PRICE: str(price)}}})
        running = scope.start(frugal(cluster.client(), clock=cluster.clock).run())
        yield client
        running.cancel()


async def create(client: Client, name: str, most: int | None = None, scheduler: str = SCHEDULER) -> None:
    labels = {} if most is None else {MOST: str(most)}
    spec = {"schedulerName": scheduler, "containers": [{"name": "main", "image": "app"}]}
    await client.create({"metadata": {"name": name, "labels": labels}, "spec": spec}, kind=PODS)


async def node_of(client: Client, name: str) -> str:
    async def bound() -> str | None:
        return (await client.get(PODS, name))["spec"].get("nodeName")

    return await eventually(bound)


@virtual_time
async def test_pods_go_to_the_cheapest_node() -> None:
    async with nodes(40, 10, 25) as client:
        for name in ("a", "b", "c"):
            await create(client, name)
            assert await node_of(client, name) == "node-2"


@virtual_time
async def test_a_pod_waits_until_a_node_is_cheap_enough() -> None:
    async with nodes(40, 30) as client:
        await create(client, "poor", most=20)

        async def refusal() -> str | None:
            conditions = (await client.get(PODS, "poor"))["status"].get("conditions") or []
            return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), None)

        message = await eventually(refusal)
        assert message.startswith("0/2 nodes are available: 2 node(s) were too expensive.")
        await client.patch(NODES, "node-1", {"metadata": {"labels": {PRICE: "20"}}})
        assert await node_of(client, "poor") == "node-1"


@virtual_time
async def test_other_pods_are_the_default_schedulers() -> None:
    async with nodes(40) as client:
        await create(client, "rich", most=1, scheduler="default-scheduler")
        assert await node_of(client, "rich") == "node-1"
