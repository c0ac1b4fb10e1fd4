"""Leads by a lock in Redis (6.0 or newer; one server, or one that Sentinel watches over, not Redis Cluster).

What Redis must be told for terms to be worth something: Redis keeps everything in memory and, unless it is
configured otherwise, may forget the last seconds when it crashes, all of it when it restarts, and whatever
its replica had not yet received when Sentinel fails over.
* With `appendonly yes` and `appendfsync always` nothing that was answered is forgotten by a restart.
* After a loss of data the leader's next renewal is refused, and it steps down; until then (2 s, or 10 s if it
  cannot reach Redis) another may lead as well. That other's term is the higher one as long as any contender
  remembers: fencing by term keeps the old leader's writes out.
* If Redis forgets while no contender is running, terms start at 1 again. Nothing here can know that.
* Keys must not be evicted: `maxmemory-policy noeviction`, or one of the `volatile-` policies (the lock's key
  has no expiry).
"""

from __future__ import annotations

import random
from collections.abc import Callable

from steersman.aio import Clock
from steersman.election.errors import ElectionConfigError
from steersman.election.lock.contest import LockElector, LockSettings
from steersman.election.redis.address import RedisAddress
from steersman.election.redis.store import RedisStore

__all__ = ["RedisElector"]


class RedisElector(LockElector):
    """A contender for the lock `name` in the Redis at `url`."""

    def __init__(
        self,
        url: str,
        name: str,
        *,
        identity: str | None = None,
        settings: LockSettings | None = None,
        password: Callable[[], str] | None = None,
        clock: Clock | None = None,
        rand: Callable[[], float] = random.random,
    ) -> None:
        """`password` is asked for every connection; without it, the URL's counts."""
        if not name:
            raise ElectionConfigError("a lock needs a name")
        settings = settings or LockSettings()
        store = RedisStore(
            RedisAddress.parse(url),
            f"steersman:lock:{name}",
            request_timeout_s=settings.request_timeout_s,
            password=password,
        )
        super().__init__(store, name, identity=identity, settings=settings, clock=clock, rand=rand)
