"""Timers: delayed calls, all of them with one sleeping task.

Nodes wait a lot (for a container to end, a back-off, the next heartbeat), and thousands of them share this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from typing import Any

from steersman.aio import Clock, DelayQueue, wait_for_event

__all__ = ["Starter", "Timers"]

_log = logging.getLogger(__name__)

#: Runs something as a task that ends with its node.
Starter = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class Timers:
    """Calls functions at a time. One call per key: a new one replaces the old."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._queue: DelayQueue[Hashable] = DelayQueue()
        self._calls: dict[Hashable, Callable[[], None]] = {}
        self._sooner = asyncio.Event()
        self._until: float | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def after(self, delay_s: float, key: Hashable, call: Callable[[], None]) -> None:
        self.at(self.clock.monotonic() + delay_s, key, call)

    def at(self, due: float, key: Hashable, call: Callable[[], None]) -> None:
        """Have `call` called at `due` (of the clock's monotonic time); it must not block."""
        self._queue.discard(key)
        self._queue.add(key, due)
        self._calls[key] = call
        if self._until is None or due < self._until:
            self._sooner.set()

    def cancel(self, key: Hashable) -> None:
        if self._calls.pop(key, None) is not None:
            self._queue.discard(key)

    async def run(self) -> None:
        """Call until cancelled."""
        while True:
            self._sooner.clear()
            for key in self._queue.pop_due(self.clock.monotonic()):
                self._call(self._calls.pop(key))
            self._until = self._queue.next_due()
            if self._until is None:
                await self._sooner.wait()
            elif (delay_s := self._until - self.clock.monotonic()) > 0:
                await wait_for_event(self._sooner, self.clock, delay_s)

    def _call(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:  # noqa: BLE001 - the others' time has come too
            _log.exception("something that was due failed")
