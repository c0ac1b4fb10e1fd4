"""The work queue with waiting added: workers block in `get` until a key is ready.

Owns the timer that wakes them when a waiting key's time comes. The rules are in `queue_core`; the
controller is the only caller in production. It belongs to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from steersman.aio import Clock, Scope
from steersman.runtime.metrics import QueueMetrics
from steersman.runtime.queue_core import QueueCore, Work
from steersman.runtime.retry import RetryPolicy

__all__ = ["WorkQueue"]

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """Keys to work on. Every `Work` from `get` ends with exactly one `done` or `failed`."""

    def __init__(
        self,
        clock: Clock,
        *,
        name: str = "",
        retry: RetryPolicy | None = None,
        min_interval_s: float = 0.0,
        debounce_s: float = 0.0,
        max_length: int = 1_000_000,
        metrics: QueueMetrics | None = None,
    ) -> None:
        self.name = name
        self.core: QueueCore[K] = QueueCore(
            retry or RetryPolicy(),
            min_interval_s=min_interval_s,
            debounce_s=debounce_s,
            max_length=max_length,
        )
        self.metrics = metrics or QueueMetrics(name, name)
        self.metrics.attach(self.core, clock)
        self._clock = clock
        self._getters: deque[asyncio.Future[None]] = deque()
        self._scope = Scope()
        self._timer: asyncio.Task[None] | None = None
        self._timer_due = 0.0

    def __len__(self) -> int:
        return len(self.core)

    def add(self, key: K, *, priority: int = 0, after_s: float = 0.0, reason: str = "") -> bool:
        """Have `key` worked on. False if the queue is full and the key is not yet in it."""
        taken = self.core.add(key, self._clock.monotonic(), priority=priority, after_s=after_s, reason=reason)
        self._changed()
        return taken

    def get_nowait(self) -> Work[K] | None:
        work = self.core.take(self._clock.monotonic())
        if work is not None:
            self.metrics.waited(work.waited_s)
        return work

    async def get(self) -> Work[K]:
        """The next key, as soon as there is one."""
        while (work := self.get_nowait()) is None:
            self._arm()
            turn = asyncio.get_running_loop().create_future()
            self._getters.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn in self._getters:
                    self._getters.remove(turn)
                else:
                    # Woken and cancelled in the same tick: the turn belongs to the next in line.
                    self._wake()
                raise
        return work

    def done(self, key: K, *, again_after_s: float | None = None) -> None:
        """`key` was worked on; its failures are forgotten. It comes back after a while if asked to."""
        now = self._clock.monotonic()
        self.metrics.worked(now - self.core.processing[key])
        self.core.done(key, now, again_after_s=again_after_s)
        self._changed()

    def failed(self, key: K) -> float:
        """`key` comes back after its backoff; how long that is."""
        now = self._clock.monotonic()
        self.metrics.worked(now - self.core.processing[key])
        wait_s = self.core.failed(key, now)
        self._changed()
        return wait_s

    def forget(self, key: K) -> None:
        self.core.forget(key)

    async def close(self) -> None:
        """Stop the timer. Nothing may be in `get` any more."""
        await self._scope.close()

    def _changed(self) -> None:
        if self._getters:
            if self.core.depth:
                self._wake()
            else:
                self._arm()

    def _wake(self) -> None:
        while self._getters:
            turn = self._getters.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _arm(self) -> None:
        """Have a getter woken when the next waiting key is due."""
        due = self.core.next_due()
        if due is None:
            return
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._scope.start(self._wait(due), name=f"{self.name} queue timer")

    async def _wait(self, due: float) -> None:
        await self._clock.sleep(due - self._clock.monotonic())
        self._timer = None
        self._wake()
