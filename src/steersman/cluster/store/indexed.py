"""The base class of engines that answer from an `StoreIndex`: reads, watches, and compaction by time.

An engine inherits this, commits its writes, and passes them to `_publish`. History older than `history_s` is
compacted by a timer on the loop that runs only while there is history.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from steersman.cluster.store.changes import Change
from steersman.cluster.store.index import StoreIndex
from steersman.cluster.store.interface import Contents, Event, Range, Record, Sink, Stamp, Subscription

__all__ = ["HISTORY_BYTES", "HISTORY_S", "IndexedStore"]

#: How long, and in how many bytes, the past can be asked for, unless told otherwise.
HISTORY_S = 300.0
HISTORY_BYTES = 64 << 20

#: The timer runs this many times per `history_s`; what is kept is that much more than asked for.
_TICKS = 10


class IndexedStore:
    """Reads, watches and compaction over an `StoreIndex`."""

    def __init__(self, stamp: Stamp, history_s: float, history_bytes: int) -> None:
        self._index = StoreIndex(history_bytes=history_bytes)
        self._stamp = stamp
        self._history_s = history_s
        #: (loop time, newest revision then), oldest first.
        self._marks: deque[tuple[float, int]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def revision(self) -> int:
        return self._index.revision

    @property
    def compacted(self) -> int:
        return self._index.compacted

    async def sync(self) -> None:
        """A write is visible when it is acknowledged: there is nothing to wait for."""

    def get(self, key: str) -> Record | None:
        return self._index.get(key)

    def range(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Range:
        return self._index.range(prefix, after, limit, revision)

    def contents(self, prefix: str) -> Contents:
        return self._index.contents(prefix)

    def count(self, prefix: str) -> int:
        return self._index.count(prefix)

    def watch(self, prefix: str, since: int, sink: Sink) -> Subscription:
        return self._index.watch(prefix, since, sink)

    def _publish(self, changes: Sequence[Change]) -> None:
        """Make a commit visible."""
        self._index.apply(changes)
        if forgotten := self._index.trim():
            self._forgotten(forgotten)
        if self._timer is None:
            self._keep_time()

    def _forgotten(self, events: Sequence[Event]) -> None:
        """History was dropped without anybody asking. For engines that keep it elsewhere too."""

    def _keep_time(self) -> None:
        """Start the timer if there is history to forget."""
        if self._index.has_history:
            interval_s = self._history_s / _TICKS
            self._timer = asyncio.get_running_loop().call_later(interval_s, self._tick)

    def _stop_time(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        now = asyncio.get_running_loop().time()
        expired = 0
        while self._marks and self._marks[0][0] <= now - self._history_s:
            expired = self._marks.popleft()[1]
        self._marks.append((now, self._index.revision))
        if forgotten := self._index.compact(expired):
            self._forgotten(forgotten)
        self._timer = None
        self._keep_time()
