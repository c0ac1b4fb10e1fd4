"""Time as an argument: the seam through which tests replace the clock.

Code that measures or waits takes a `Clock`; only the assembly at the top names `SystemClock`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Where time comes from."""

    def monotonic(self) -> float:
        """Seconds that never go back: for durations and deadlines."""
        ...

    def wall(self) -> float:
        """Seconds since the Unix epoch: for what people and other machines read."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Return when `delay_s` seconds of this clock have passed."""
        ...


class SystemClock:
    """The machine's own clocks and the running loop's timers."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
