"""Virtual time: hours pass in milliseconds, and the order of events is always the same.

    @virtual_time
    async def test_an_object_is_looked_at_every_five_minutes() -> None:
        async with Cluster() as cluster, cluster.run_operator(op):
            ...
            await cluster.clock.advance(300)

The loop's time stands still while there is something to do, and jumps to the next timer when there is not.
Everything in the loop shares it: the operator, its client, the cluster of the same process, plain
`asyncio.sleep`. It is for what happens within the process; over sockets, time may jump while a message is
under way.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import wraps
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

__all__ = ["EPOCH", "VirtualClock", "VirtualLoop", "run_virtual", "virtual_time"]

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

#: The wall clock at the beginning: some moment in 2026.
EPOCH = 1_780_000_000.0


class _JumpingSelector(selectors.DefaultSelector):
    """Passes no real time: where another selector would wait, it moves `now`."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        #: Those who wait until there is nothing to do at this moment.
        self.settling: list[asyncio.Future[None]] = []

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        waiting = [future for future in self.settling if not future.done()]
        self.settling.clear()
        if waiting:
            for future in waiting:
                future.set_result(None)
        elif timeout is None:
            raise RuntimeError("deadlock: all tasks wait, and no timer is set")
        else:
            self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer when nothing else is to be done."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    async def settle(self) -> None:
        """Return when nothing is left to do before time has to pass."""
        future: asyncio.Future[None] = self.create_future()
        self._jumping.settling.append(future)
        await future

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """At once: no time passes here while a thread works, so none may be waited for."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            done.set_exception(error)
        return done


class VirtualClock:
    """The running loop's time, as `steersman.aio.Clock`."""

    def __init__(self) -> None:
        #: How far somebody has moved the wall clock.
        self.wall_shift_s = 0.0

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return EPOCH + self.wall_shift_s + asyncio.get_running_loop().time()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)

    async def advance(self, seconds: float) -> None:
        """Let so much time pass, with everything that happens in it, up to the last thing due at its end."""
        if seconds < 0:
            raise ValueError("time does not go back; move `wall_shift_s` for a wall clock that does")
        await asyncio.sleep(seconds)
        await self.settle()

    async def settle(self) -> None:
        """Return when nothing is left to do before time has to pass."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise RuntimeError("time is not virtual here: decorate the test with @virtual_time")
        await loop.settle()


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make an `async def` test a plain one that runs in virtual time."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(test(*args, **kwargs))

    return run
