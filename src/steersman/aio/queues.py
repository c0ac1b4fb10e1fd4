"""Two queues asyncio lacks: one that is bounded and can be closed, one ordered by due time.

`DelayQueue` is pure (time is an argument); `BoundedQueue` belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["BoundedQueue", "DelayQueue", "QueueClosed", "QueueFull"]

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class QueueFull(Exception):
    """The queue holds as much as it may; the caller decides what to drop."""


class QueueClosed(Exception):
    """Nothing can be put any more, or everything that was put has been taken."""


class BoundedQueue(Generic[T]):
    """First in, first out, at most `capacity` items; `close` lets readers take the rest, then stop."""

    __slots__ = ("_capacity", "_closed", "_items", "_readers", "_writers")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("a queue holds at least one item")
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._closed = False
        self._readers: deque[asyncio.Future[None]] = deque()
        self._writers: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def closed(self) -> bool:
        return self._closed

    def put_nowait(self, item: T) -> None:
        if self._closed:
            raise QueueClosed
        if len(self._items) >= self._capacity:
            raise QueueFull
        self._items.append(item)
        _wake_one(self._readers)

    async def put(self, item: T) -> None:
        """Wait for room. Raises `QueueClosed` if the queue is or becomes closed."""
        while not self._closed and len(self._items) >= self._capacity:
            await _turn(self._writers)
        self.put_nowait(item)

    async def get(self) -> T:
        """The oldest item. Raises `QueueClosed` when the queue is closed and empty."""
        while not self._items:
            if self._closed:
                raise QueueClosed
            await _turn(self._readers)
        item = self._items.popleft()
        _wake_one(self._writers)
        return item

    def close(self) -> None:
        self._closed = True
        for waiters in (self._readers, self._writers):
            while waiters:
                _wake_one(waiters)


async def _turn(waiters: deque[asyncio.Future[None]]) -> None:
    waiter = asyncio.get_running_loop().create_future()
    waiters.append(waiter)
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter in waiters:
            waiters.remove(waiter)
        else:
            # It was woken and cancelled in the same tick: the turn belongs to the next in line.
            _wake_one(waiters)
        raise


def _wake_one(waiters: deque[asyncio.Future[None]]) -> None:
    while waiters:
        waiter = waiters.popleft()
        if not waiter.done():
            waiter.set_result(None)
            return


class DelayQueue(Generic[K]):
    """Keys with a due time each; a key is in the queue at most once, at its earliest due time."""

    __slots__ = ("_due", "_heap", "_order")

    def __init__(self) -> None:
        # The heap may hold outdated entries; `_due` is the truth and they are skipped on the way out.
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: K) -> bool:
        return key in self._due

    def add(self, key: K, due: float) -> None:
        """Have `key` come out at `due`, unless it already comes out earlier."""
        known = self._due.get(key)
        if known is not None and known <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        if len(self._heap) > 64 and len(self._heap) > 2 * len(self._due):
            self._heap = [(at, order, k) for at, order, k in self._heap if self._due.get(k) == at]
            heapq.heapify(self._heap)

    def discard(self, key: K) -> None:
        self._due.pop(key, None)

    def next_due(self) -> float | None:
        """When the next key comes out; None if the queue is empty."""
        heap = self._heap
        while heap:
            due, _, key = heap[0]
            if self._due.get(key) == due:
                return due
            heapq.heappop(heap)
        return None

    def pop_due(self, now: float) -> list[K]:
        """Take every key whose time has come, earliest first."""
        ready: list[K] = []
        while (due := self.next_due()) is not None and due <= now:
            key = heapq.heappop(self._heap)[2]
            del self._due[key]
            ready.append(key)
        return ready
