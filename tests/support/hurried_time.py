"""An event loop on which time flies: a second of asyncio's takes a tenth.

For suites that are written in virtual time and must also run against servers whose clock is the real one:
their waits get short, and the code under test takes `RealClock`, whose seconds are true ones.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.support.waiting import pass_time

__all__ = ["SPEED", "RealClock", "run_hurried"]

T = TypeVar("T")

SPEED = 10.0


class _Hurried(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / SPEED)


class _HurriedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__(_Hurried())

    def time(self) -> float:
        return super().time() * SPEED


class RealClock:
    """True seconds, on a hurried loop."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, delay_s: float) -> None:
        await pass_time(delay_s * SPEED, "a hurried clock")


def run_hurried(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on a hurried loop."""
    with asyncio.Runner(loop_factory=_HurriedLoop) as runner:
        return runner.run(main)
