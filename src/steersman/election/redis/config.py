"""`RedisLock(url, "my-operator")`: leader election by a lock in Redis, as an operator declares it.

    RedisLock("rediss://redis.example.com/0", "my-operator").password_file("/etc/redis/password")

Importing this needs nothing but Steersman; making the elector needs `steersman[redis]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steersman.aio import Clock
from steersman.client import Client
from steersman.election.errors import ElectionConfigError
from steersman.election.lock.declaration import LockDeclaration

if TYPE_CHECKING:
    from steersman.election.redis.engine import RedisElector

__all__ = ["RedisLock"]


@dataclass(frozen=True, slots=True)
class RedisLock(LockDeclaration):
    """A lock in the Redis at `url`; `redis.address` says what that may look like."""

    def elector(self, client: Client, clock: Clock) -> RedisElector:
        try:
            from steersman.election.redis.engine import RedisElector
        except ModuleNotFoundError as error:
            raise ElectionConfigError("a lock in Redis needs `pip install 'steersman[redis]'`") from error
        return RedisElector(
            self.url,
            self.name,
            identity=self.identity,
            settings=self.settings,
            password=self.password,
            clock=clock,
        )
