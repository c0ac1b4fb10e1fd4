"""Two clusters, one lock in a real Redis: the copy that a dead leader left in the one is stopped there, by whoever
is back first, though somebody leads in the other."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.aio import Scope, SystemClock
from steersman.highlander.live import LiveObjects
from steersman.highlander.tenant import Tenant
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, PODS
from steersman.testing import Cluster, eventually
from tests.integration.election.backends import new_name
from tests.integration.highlander.worlds import config
from tests.support.redis_server import RedisServer

PATIENCE_S = 60.0
POD = {"image": "image"}
WORKLOADS: dict[str, Any] = {
    "processes": [{"name": "beat", **POD}],
    "services": [{"name": "web", **POD}],
    "cronJobs": [{"name": "tick", "schedule": "0 0 1 1 *", **POD}],
}


class Controller:
    def __init__(self, cluster: Cluster, redis: RedisServer, tenant: str, scope: Scope) -> None:
        client, clock = cluster.client(), SystemClock()
        settings = {"storageType": "redis", "redis": {"addr": redis.url}, "workloads": WORKLOADS}
        live = LiveObjects(client, clock, {"default"})
        self.tenant = Tenant(config(tenant=tenant, **settings), client, live, clock=clock)
        self._tasks = [scope.start(live.run()), scope.start(self.tenant.run())]

    @property
    def runs(self) -> bool:
        board = self.tenant.board
        states = board.workloads.values()
        return board.controller.is_leader and len(states) == 3 and all(one.ready for one in states)

    async def vanish(self) -> None:
        """Nothing is stopped, nothing is released."""
        self.tenant._config = self.tenant._config.model_copy(update={"on_loss": "leave"})
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        self.tenant.stop()
        await asyncio.wait(self._tasks[1:])


async def at_work(cluster: Cluster) -> set[str]:
    """What runs, or starts something by itself."""
    client = cluster.client()
    found = {pod["metadata"]["name"] for pod in await client.list(PODS) if "beat" in pod["metadata"]["name"]}
    found |= {one["metadata"]["name"] for one in await client.list(DEPLOYMENTS) if one["spec"]["replicas"]}
    suspended = [one["spec"].get("suspend") for one in await client.list(CRON_JOBS)]
    return found | ({"tick"} if suspended == [False] or suspended == [None] else set())


def test_what_a_dead_leader_left_is_stopped_where_it_left_it(redis: RedisServer) -> None:
    async def run() -> None:
        name = new_name()
        async with (
            Cluster(controllers=("all",), nodes=1) as west,
            Cluster(controllers=("all",), nodes=1) as east,
            Scope() as scope,
        ):
            first = Controller(west, redis, name, scope)
            await eventually(lambda: first.runs, PATIENCE_S)
            everything = {"beat-pod", "web", "tick"}
            assert await at_work(west) == everything
            await first.vanish()
            other = Controller(east, redis, name, scope)
            await eventually(lambda: other.runs, PATIENCE_S)
            assert await at_work(west) == everything
            back = Controller(west, redis, name, scope)

            async def is_quiet() -> bool:
                return await at_work(west) == set()

            await eventually(is_quiet, PATIENCE_S)
            assert other.runs
            assert await at_work(east) == everything
            await back.stop()
            await other.stop()

    asyncio.run(run())
