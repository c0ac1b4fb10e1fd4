"""Hand-overs that are quick, and renewals that nothing stands in the way of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from steersman.client import Client
from steersman.client.transport import PassingTransport, Transport
from steersman.highlander.config import Loaded, TenantConfig
from steersman.highlander.process import Highlander
from steersman.http import ClientResponse
from steersman.objects.resources import PODS
from steersman.testing import Cluster, eventually, virtual_time
from steersman.testing.faults import Faults
from steersman.testing.faulty import FaultyTransport
from tests.integration.highlander.worlds import config, process, world

#: As they are if nobody says anything: somebody who only looks now and then finds the lock after seconds.
SLOW = {"leaseDuration": 15, "renewDeadline": 10, "retryPeriod": 2}


@virtual_time
async def test_a_follower_is_there_when_the_leader_lets_go() -> None:
    async with world() as here:
        first = here.start(config(election=SLOW))
        await here.running(first)
        second = here.start(config("b", election=SLOW))
        await here.pass_time(7.3)
        await first.tenant.step_down("test")
        gone = await _until(here.client, there=False)
        assert await _until(here.client, there=True) - gone < 0.5
        await here.running(second)
        await first.stop()
        await second.stop()


async def _until(client: Client, *, there: bool) -> float:
    """When the pod is there, or is not."""
    while (await client.find(PODS, "beat-pod") is not None) != there:
        await asyncio.sleep(0.02)
    return asyncio.get_running_loop().time()


@virtual_time
async def test_a_leader_that_loses_the_lock_while_it_stops_ends_all_the_same() -> None:
    async with world() as here:
        slow = process(annotations={"simulated.steersman.dev/stop-time": "60s"}, terminationGracePeriod=3600)
        first = here.start(config(workloads={"processes": [slow]}))
        await here.running(first)
        second = here.start(config("b", workloads={"processes": [slow]}))
        ending = asyncio.ensure_future(first.stop())
        await here.pass_time(2)
        first.faults.hang(resource="leases")
        await eventually(lambda: second.leads, 30)
        first.faults.clear()
        await eventually(ending.done, 20)
        await here.running(second)
        await second.stop()


class NarrowTransport(PassingTransport):
    """As many requests at once as a pool has connections."""

    def __init__(self, transport: Transport, size: int) -> None:
        super().__init__(transport)
        self._connections = asyncio.Semaphore(size)

    def request(self, *arguments: Any, **options: Any) -> Awaitable[ClientResponse]:
        request = super().request

        async def one() -> ClientResponse:
            async with self._connections:
                return await request(*arguments, **options)

        return one()


@virtual_time
async def test_a_lock_is_renewed_while_all_connections_are_busy_with_workloads() -> None:
    given = config(port=0, api={"bind": "127.0.0.1"}, workloads={"processes": _processes(8)})
    faults = Faults()
    faults.delay(60, resource="pods", verb="create")
    async with Cluster(controllers=("all",), nodes=1) as cluster:

        def connect(_: TenantConfig) -> Client:
            client = cluster.client()
            client.carry(lambda transport: NarrowTransport(FaultyTransport(transport, faults), 4))
            return client

        made = Highlander(lambda: Loaded((given,), ()), clock=cluster.clock, connect=connect)
        running = asyncio.ensure_future(made.run())
        await eventually(lambda: "shop" in made.tenants and made.tenants["shop"].leads, 30)
        board = made.tenants["shop"].board
        epoch = board.controller.epoch
        for _ in range(50):
            await cluster.clock.advance(1)
            assert made.tenants["shop"].leads
        assert board.controller.epoch == epoch
        made.stop()
        faults.clear()
        await running


def _processes(count: int) -> list[dict[str, Any]]:
    return [process(f"beat-{number}") for number in range(count)]
