"""Redis and PostgreSQL as tests of both see them: a server, stores and contenders for locks in it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from steersman.election.lock.contest import LockSettings as PostgresSettings
from steersman.election.lock.contest import LockSettings as RedisSettings
from steersman.election.lock.contest import StoreUnavailable as PostgresUnavailable
from steersman.election.lock.contest import StoreUnavailable as RedisUnavailable
from steersman.election.postgres.engine import PostgresElector
from steersman.election.postgres.statements import Statements
from steersman.election.postgres.store import PostgresStore
from steersman.election.redis.address import RedisAddress
from steersman.election.redis.engine import RedisElector
from steersman.election.redis.store import RedisStore
from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import RedisServer
from tests.support.servers import Server

__all__ = ["TIMES", "Backend", "PostgresBackend", "RedisBackend", "new_name"]

#: Short enough for tests, long enough for a machine that does other things as well.
TIMES = {"duration_s": 3.0, "renew_deadline_s": 2.0, "retry_period_s": 0.2}


def new_name() -> str:
    return f"lock-{uuid.uuid4().hex}"


class Backend(Protocol):
    unavailable: ClassVar[type[Exception]]
    """What its stores raise when they cannot be reached."""

    @property
    def server(self) -> Server: ...

    @property
    def socket(self) -> Path: ...

    def store(self, name: str) -> Any: ...

    def elector(
        self, name: str, identity: str, *, port: int = 0, times: Mapping[str, float] = TIMES, **options: Any
    ) -> Any:
        """Through a proxy on `port` if there is one."""
        ...

    def postpone(self, name: str, days: int) -> None:
        """Make a lock end later than it should."""
        ...


@dataclass(frozen=True)
class RedisBackend:
    unavailable: ClassVar[type[Exception]] = RedisUnavailable
    server: RedisServer

    @property
    def socket(self) -> Path:
        return self.server.socket

    def store(self, name: str) -> RedisStore:
        return RedisStore(RedisAddress.parse(self.server.url), f"steersman:lock:{name}", request_timeout_s=5)

    def elector(
        self, name: str, identity: str, *, port: int = 0, times: Mapping[str, float] = TIMES, **options: Any
    ) -> RedisElector:
        url = f"redis://127.0.0.1:{port}/0" if port else self.server.url
        return RedisElector(url, name, identity=identity, settings=RedisSettings(**times), **options)

    def postpone(self, name: str, days: int) -> None:
        key = f"steersman:lock:{name}"
        until = int(self.server.cli("HGET", key, "until")) + days * 86_400_000
        self.server.cli("HSET", key, "until", str(until))


@dataclass(frozen=True)
class PostgresBackend:
    unavailable: ClassVar[type[Exception]] = PostgresUnavailable
    server: PostgresServer

    @property
    def socket(self) -> Path:
        return self.server.socket

    def store(self, name: str, table: str = "steersman_locks") -> PostgresStore:
        return PostgresStore(self.server.url, name, Statements.on(table), request_timeout_s=5)

    def elector(
        self, name: str, identity: str, *, port: int = 0, times: Mapping[str, float] = TIMES, **options: Any
    ) -> PostgresElector:
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable" if port else self.server.url
        return PostgresElector(url, name, identity=identity, settings=PostgresSettings(**times), **options)

    def postpone(self, name: str, days: int) -> None:
        self.server.sql(
            f"UPDATE steersman_locks SET expires = expires + interval '{days} days' WHERE name = '{name}'"
        )
