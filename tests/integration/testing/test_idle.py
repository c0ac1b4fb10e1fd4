"""A cluster in which nothing happens costs next to nothing, so that days of virtual time pass in seconds."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steersman.client import Client
from steersman.objects.conditions import condition_is
from steersman.objects.resources import EVENTS, NODES
from steersman.testing import Cluster, eventually, virtual_time

OFFLINE = "simulated.steersman.dev/offline"


async def ready(client: Client, name: str, status: str) -> bool:
    node = await client.get(NODES, name)
    return condition_is(node["status"].get("conditions"), "Ready", status)


async def transitions(client: Client) -> list[str]:
    nodes = await client.list(NODES)
    return [each["lastTransitionTime"] for node in nodes for each in node["status"]["conditions"]]


@contextmanager
def counted_timers() -> Iterator[Counter[str]]:
    """What the running loop is asked to wake, by name."""
    loop = asyncio.get_running_loop()
    counted: Counter[str] = Counter()
    call_at = loop.call_at

    def count(when: float, callback: Any, *arguments: Any, **options: Any) -> asyncio.TimerHandle:
        task = asyncio.current_task()
        counted[task.get_name() if task is not None else getattr(callback, "__qualname__", "?")] += 1
        return call_at(when, callback, *arguments, **options)

    loop.call_at = count  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        loop.call_at = call_at  # type: ignore[method-assign]


@virtual_time
async def test_an_idle_hour_of_all_controllers_and_nodes_has_few_wake_ups_and_fewer_writes() -> None:
    async with Cluster(controllers=("all",), nodes=3) as cluster:
        await cluster.clock.advance(3600)
        revision = cluster.server.store.revision
        with counted_timers() as timers:
            await cluster.clock.advance(3600)
        # A lease and a status of each node every ten minutes.
        assert cluster.server.store.revision - revision <= 3 * 2 * 6
        assert timers.total() <= 400, timers.most_common(10)


@virtual_time
async def test_nodes_stay_ready_for_days() -> None:
    async with Cluster(controllers=("all",), nodes=3) as cluster:
        client = cluster.client()
        await eventually(lambda: ready(client, "node-1", "True"), 60)
        await cluster.clock.advance(600)
        before = await transitions(client)
        await cluster.clock.advance(2 * 86_400)
        assert await transitions(client) == before


@virtual_time
async def test_a_node_that_is_cut_off_is_missed_as_soon_as_in_real_time_and_is_back_at_once() -> None:
    async with Cluster(controllers=("all",), nodes=3) as cluster:
        client = cluster.client()
        await eventually(lambda: ready(client, "node-1", "True"), 60)
        await cluster.clock.advance(3600)
        await client.patch(NODES, "node-1", {"metadata": {"annotations": {OFFLINE: "true"}}})
        await cluster.clock.advance(45)
        assert await ready(client, "node-1", "True")
        await cluster.clock.advance(15)
        assert await ready(client, "node-1", "Unknown")
        assert await ready(client, "node-2", "True")
        await client.patch(NODES, "node-1", {"metadata": {"annotations": {OFFLINE: None}}})
        await cluster.clock.advance(1)
        assert await ready(client, "node-1", "True")
        await cluster.clock.advance(3600)
        assert await ready(client, "node-1", "True")


@virtual_time
async def test_what_is_told_of_one_object_at_one_moment_is_all_told() -> None:
    async with Cluster(controllers=("all",), nodes=1) as cluster:
        await cluster.clock.advance(10)
        told = await cluster.client().list(EVENTS)
        reasons = {each["reason"] for each in told if each["regarding"]["name"] == "node-1"}
        assert {"Starting", "RegisteredNode"} <= reasons
