"""One contender in a process of its own: `contender.py IDENTITY ENGINE [URL]`. Says what it does, and when.

    leads TERM TIME      elected
    acts TERM TIME       did what only a leader may do
    stopped TIME         its work was cancelled

TIME is the machine's monotonic clock, the same for all processes.
"""

from __future__ import annotations

import asyncio
import sys
import time

from steersman.client import Client
from steersman.election import Elector, Leadership, LeaseElector, LeaseSettings
from steersman.election.lock.contest import LockSettings as PostgresSettings
from steersman.election.lock.contest import LockSettings as RedisSettings
from steersman.election.postgres.engine import PostgresElector
from steersman.election.redis.engine import RedisElector

TIMES = {"duration_s": 3.0, "renew_deadline_s": 2.0, "retry_period_s": 0.2}


def elector(client: Client | None, identity: str, engine: str, url: str) -> Elector:
    if engine == "redis":
        return RedisElector(url, "lock", identity=identity, settings=RedisSettings(**TIMES))
    if engine == "postgres":
        return PostgresElector(url, "lock", identity=identity, settings=PostgresSettings(**TIMES))
    assert client is not None
    return LeaseElector(client, "lock", "default", identity=identity, settings=LeaseSettings(**TIMES))


async def work(leadership: Leadership) -> None:
    print("leads", leadership.term, time.monotonic(), flush=True)
    try:
        while True:
            if leadership.valid:
                print("acts", leadership.term, time.monotonic(), flush=True)
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        print("stopped", time.monotonic(), flush=True)
        raise


async def main(identity: str, engine: str, url: str = "") -> None:
    if engine != "lease":
        await elector(None, identity, engine, url).run(work)
        return
    async with Client.load() as client:
        await elector(client, identity, engine, url).run(work)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
