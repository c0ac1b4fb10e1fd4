"""The system clock keeps the promises of the Clock interface."""

from __future__ import annotations

import asyncio
import time

from steersman.aio import Clock, SystemClock


def test_system_clock_measures_and_waits() -> None:
    clock: Clock = SystemClock()

    async def main() -> float:
        before = clock.monotonic()
        await clock.sleep(0.01)
        return clock.monotonic() - before

    assert asyncio.run(main()) >= 0.009
    assert abs(clock.wall() - time.time()) < 60
