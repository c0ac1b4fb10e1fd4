"""An event loop whose time jumps to the next timer when nothing else is to be done.

Hours pass in milliseconds, and the order of events is always the same. Code under test takes
`VirtualClock`; plain asyncio timers jump as well. For code that talks to no one outside the process; a
cluster in the same process, reached by its own client, is fine.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["VirtualClock", "run_virtual"]

T = TypeVar("T")

#: Some moment in 2026.
EPOCH = 1_780_000_000.0


class _Jumping(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("everybody waits for somebody else: nothing would ever happen")
        self.now += timeout
        return []


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *arguments: Any) -> Any:
        """At once: no time passes here while a thread works, so none may be waited for."""
        done = self.create_future()
        try:
            done.set_result(func(*arguments))
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            done.set_exception(error)
        return done


class VirtualClock:
    """The running loop's time."""

    def __init__(self) -> None:
        #: How far the wall clock was moved by somebody.
        self.wall_shift_s = 0.0

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return EPOCH + self.wall_shift_s + asyncio.get_running_loop().time()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in virtual time."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(main)
