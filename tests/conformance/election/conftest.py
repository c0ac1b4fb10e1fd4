"""The engines under test. A new one adds a line to ENGINES."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Protocol, cast

import pytest

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.election import Elector, LeaseElector
from tests.conformance.election.raft_nodes import raft_arena
from tests.conformance.election.stores import postgres_arena, redis_arena
from tests.sim.virtual_time import VirtualClock, run_virtual
from tests.support.hurried_time import run_hurried
from tests.support.postgres_server import PostgresServer, postgres_server
from tests.support.redis_server import RedisServer, redis_server


class Arena(Protocol):
    """A lock, and contenders for it that can be cut off from it."""

    def contender(self, identity: str) -> Elector: ...

    def cut_off(self, identity: str) -> None:
        """Its requests hang from here on."""
        ...

    def heal(self, identity: str) -> None: ...


class Line:
    """A client whose requests, or their answers, hang while the line is cut."""

    def __init__(self, client: Client) -> None:
        self.namespace = client.namespace
        self.whole = asyncio.Event()
        self.whole.set()
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def request(*arguments: Any, **options: Any) -> Any:
            await self.whole.wait()
            answer = await method(*arguments, **options)
            await self.whole.wait()
            return answer

        return request


class LeaseArena:
    def __init__(self, cluster: LocalCluster) -> None:
        self._client = cluster.client()
        self._lines: dict[str, Line] = {}

    def contender(self, identity: str) -> LeaseElector:
        line = self._lines[identity] = Line(self._client)
        return LeaseElector(cast(Client, line), "lock", identity=identity, clock=VirtualClock())

    def cut_off(self, identity: str) -> None:
        self._lines[identity].whole.clear()

    def heal(self, identity: str) -> None:
        self._lines[identity].whole.set()


@asynccontextmanager
async def lease_arena() -> AsyncIterator[Arena]:
    async with LocalCluster(ClusterConfig()) as cluster:
        yield LeaseArena(cluster)


#: An arena, how to run a test in it, and the fixtures of the servers it needs.
ENGINES: dict[str, tuple[Any, ...]] = {
    "lease": (lease_arena, run_virtual),
    "redis": (redis_arena, run_hurried, "redis"),
    "postgres": (postgres_arena, run_hurried, "postgres"),
    "raft": (raft_arena, run_virtual),
}


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if servers else [])
        for name, (_, _, *servers) in ENGINES.items()
    ]
)
def arena(
    request: pytest.FixtureRequest,
) -> tuple[Callable[[], AbstractAsyncContextManager[Arena]], Callable[..., Any]]:
    """Which engine; tests are given its arena."""
    open_arena, run, *servers = ENGINES[request.param]
    return partial(open_arena, *map(request.getfixturevalue, servers)), run


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests, each in an arena of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    open_arena, run = pyfuncitem.funcargs["arena"]

    async def main() -> None:
        async with open_arena() as arena:
            await pyfuncitem.obj(arena=arena)

    run(main())
    return True
