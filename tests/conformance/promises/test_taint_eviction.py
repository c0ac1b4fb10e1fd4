"""Promises about pods on nodes with NoExecute taints, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from steersman.objects.resources import NODES, PODS
from tests.integration.controllers.workloads import World, with_workloads

from .keeping import promised

Test = Callable[[World], Awaitable[None]]

KEY, VALUE = "kubernetes.io/e2e-evict-taint-key", "evictTaintVal"
WAIT_S = 5


def taint_promise(name: str) -> Callable[[Test], Callable[[], None]]:
    promised(name)

    def decorate(test: Test) -> Callable[[], None]:
        run = with_workloads("taint-eviction")(test)
        run.__doc__ = f"{name}."
        return run

    return decorate


async def start_pod(world: World, name: str, tolerates_s: int) -> None:
    toleration = {"key": KEY, "value": VALUE, "effect": "NoExecute", "tolerationSeconds": tolerates_s}
    spec: dict[str, Any] = {
        "containers": [{"name": "pause", "image": "pause"}],
        "tolerations": [toleration],
        "terminationGracePeriodSeconds": 5,
    }
    await world.create(PODS, {"metadata": {"name": name}, "spec": spec})

    async def runs() -> bool:
        return bool((await world.get(PODS, name))["status"]["phase"] == "Running")

    await world.until(runs)


async def set_taint(world: World, on: bool) -> None:
    taints = [{"key": KEY, "value": VALUE, "effect": "NoExecute"}] if on else None
    await world.client.patch(NODES, "node-1", {"spec": {"taints": taints}})


@taint_promise("NoExecuteTaintManager Single Pod removing taint cancels eviction")
async def test_a_pod_stays_when_the_taint_goes(world: World) -> None:
    await world.add_nodes("node-1")
    await start_pod(world, "taint-eviction-4", 2 * WAIT_S)
    await set_taint(world, True)
    await asyncio.sleep(WAIT_S)
    assert await world.names(PODS) == ["taint-eviction-4"]
    await set_taint(world, False)
    await asyncio.sleep(60 + 3 * WAIT_S)
    assert await world.names(PODS) == ["taint-eviction-4"]


@taint_promise("NoExecuteTaintManager Multiple Pods evicts pods with minTolerationSeconds")
async def test_pods_leave_when_their_time_is_up(world: World) -> None:
    await world.add_nodes("node-1")
    await start_pod(world, "taint-eviction-b1", WAIT_S)
    await start_pod(world, "taint-eviction-b2", 5 * WAIT_S)
    await set_taint(world, True)
    await asyncio.sleep(2 * WAIT_S)
    assert await world.names(PODS) == ["taint-eviction-b2"]
    await asyncio.sleep(5 * WAIT_S)
    assert await world.names(PODS) == []
