"""One contender in a process of its own: `contender.py IDENTITY`. Says what it does, and when.

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
from steersman.election import Leadership, LeaseElector, LeaseSettings

SETTINGS = LeaseSettings(duration_s=3.0, renew_deadline_s=2.0, retry_period_s=0.2)


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


async def main(identity: str) -> None:
    async with Client.load() as client:
        await LeaseElector(client, "lock", "default", identity=identity, settings=SETTINGS).run(work)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
