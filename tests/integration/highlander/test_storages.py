"""Locks in real Redis and real PostgreSQL: hand-over, an outage of the store, and a release that comes late."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.aio import Scope, SystemClock
from steersman.highlander.config import TenantConfig
from steersman.highlander.live import LiveObjects
from steersman.highlander.tenant import Tenant
from steersman.testing import Cluster, eventually
from tests.integration.election.backends import Backend, PostgresBackend, RedisBackend, new_name
from tests.integration.highlander.worlds import config

PATIENCE_S = 60.0


@pytest.fixture(params=["redis", "db"])
def storage(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Backend]:
    """What the file says, and the server."""
    if request.param == "redis":
        server = request.getfixturevalue("redis")
        return {"storageType": "redis", "redis": {"addr": server.url}}, RedisBackend(server)
    server = request.getfixturevalue("postgres")
    return {"storageType": "db", "databaseURL": server.url}, PostgresBackend(server)


class _Controllers:
    def __init__(self, cluster: Cluster, scope: Scope) -> None:
        self._cluster = cluster
        self._scope = scope
        self.tasks: dict[Tenant, asyncio.Task[None]] = {}

    def start(self, given: TenantConfig) -> Tenant:
        client, clock = self._cluster.client(), SystemClock()
        live = LiveObjects(client, clock, {"default"})
        tenant = Tenant(given, client, live, clock=clock)
        self._scope.start(live.run())
        self.tasks[tenant] = self._scope.start(tenant.run())
        return tenant

    async def stop(self, tenant: Tenant) -> None:
        tenant.stop()
        await asyncio.wait((self.tasks[tenant],))


def _runs(tenant: Tenant) -> bool:
    board = tenant.board
    return board.controller.is_leader and any(
        each.ready and each.epoch == board.controller.epoch for each in board.workloads.values()
    )


def test_the_next_takes_over_in_a_higher_epoch(storage: tuple[dict[str, Any], Backend]) -> None:
    settings, backend = storage

    async def run() -> None:
        name = new_name()
        async with Cluster(controllers=("all",), nodes=1) as cluster, Scope() as scope:
            controllers = _Controllers(cluster, scope)
            first = controllers.start(config("a", tenant=name, **settings))
            await eventually(lambda: _runs(first), PATIENCE_S)
            second = controllers.start(config("b", tenant=name, **settings))
            await eventually(
                lambda: second.board.controller.leader == first.board.controller.owner, PATIENCE_S
            )
            await first.step_down("test")
            await eventually(lambda: _runs(second), PATIENCE_S)
            assert second.board.controller.epoch == 2
            with backend.server.frozen():
                await eventually(lambda: not second.board.controller.is_leader, PATIENCE_S)
                await eventually(lambda: not second.board.controller.storage_healthy, PATIENCE_S)
            await eventually(lambda: _runs(first) or _runs(second), PATIENCE_S)
            assert max(first.board.controller.epoch, second.board.controller.epoch) > 2
            await controllers.stop(first)
            await controllers.stop(second)

    asyncio.run(run())


def test_a_release_that_comes_late_does_not_free_the_next_leaders_lock(
    storage: tuple[dict[str, Any], Backend],
) -> None:
    _, backend = storage

    async def run() -> None:
        store = backend.store(new_name())
        await store.acquire("first", "token-1", 0, 0.05)

        async def expired() -> bool:
            return bool((await store.observe()).remaining_s <= 0)

        await eventually(expired, PATIENCE_S)
        await store.acquire("second", "token-2", 0, 60)
        await store.release("token-1")
        lock = await store.observe()
        assert (lock.holder, lock.token) == ("second", "token-2")
        assert lock.remaining_s > 0
        await store.close()

    asyncio.run(run())
