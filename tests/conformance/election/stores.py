"""Arenas around real Redis and PostgreSQL: every contender reaches the server through a proxy of its own."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from steersman.aio import Scope
from steersman.election import Elector
from steersman.election.lock.contest import LockSettings as PostgresSettings
from steersman.election.lock.contest import LockSettings as RedisSettings
from steersman.election.postgres.engine import PostgresElector
from steersman.election.redis.engine import RedisElector
from tests.support.faulty_proxy import FaultyProxy
from tests.support.hurried_time import RealClock
from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import RedisServer

__all__ = ["postgres_arena", "redis_arena"]

#: Short enough for tests, long enough for a machine that does other things as well.
TIMES = {"duration_s": 2.5, "renew_deadline_s": 1.8, "retry_period_s": 0.2}


class StoreArena:
    """One lock in a server that listens on the socket `target`."""

    def __init__(self, target: Path, elector: Callable[[int, str], Elector], scope: Scope) -> None:
        self._target = target
        self._elector = elector
        self._scope = scope
        self._proxies: dict[str, FaultyProxy] = {}

    def contender(self, identity: str) -> Elector:
        proxy = self._proxies[identity] = FaultyProxy(self._target, self._scope)
        return self._elector(proxy.port, identity)

    def cut_off(self, identity: str) -> None:
        self._proxies[identity].hold()

    def heal(self, identity: str) -> None:
        self._proxies[identity].flow()


def _redis(lock: str, port: int, identity: str) -> Elector:
    return RedisElector(
        f"redis://127.0.0.1:{port}",
        lock,
        identity=identity,
        settings=RedisSettings(**TIMES),
        clock=RealClock(),
    )


def _postgres(lock: str, port: int, identity: str) -> Elector:
    return PostgresElector(
        f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable",
        lock,
        identity=identity,
        settings=PostgresSettings(**TIMES),
        clock=RealClock(),
    )


@asynccontextmanager
async def redis_arena(server: RedisServer) -> AsyncIterator[StoreArena]:
    async with Scope() as scope:
        yield StoreArena(server.socket, partial(_redis, uuid.uuid4().hex), scope)


@asynccontextmanager
async def postgres_arena(server: PostgresServer) -> AsyncIterator[StoreArena]:
    async with Scope() as scope:
        yield StoreArena(server.socket, partial(_postgres, uuid.uuid4().hex), scope)
