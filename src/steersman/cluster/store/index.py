"""The in-memory index of the store: the current record of every key, and the recent events.

All engines read from one of these and feed it the changes they have committed, in revision order.
The recent past is a log of events, each with the record before it: a watch's backlog is read from it
forwards, a range at an old revision undoes it backwards. Forgetting drops the log's front.

Loop only; knows nothing of durability. Who needs the forgotten events (to clean a file) gets them
returned.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter

from steersman.cluster.store.changes import Change
from steersman.cluster.store.errors import Compacted, FutureRevision
from steersman.cluster.store.interface import Contents, Event, Range, Record, Sink, Subscription
from steersman.cluster.store.tables import Tables
from steersman.cluster.store.watchers import StoreWatches

__all__ = ["StoreIndex"]

#: What an event costs beside its values: the event, the record before, their numbers, the log's slot.
EVENT_OVERHEAD_BYTES = 256

_key_of = attrgetter("key")
_revision_of = attrgetter("revision")


def _size(event: Event) -> int:
    # Values that the index or the event before also hold are counted too: an upper bound.
    previous = 0 if event.previous is None else len(event.previous.value)
    return len(event.value) + previous + EVENT_OVERHEAD_BYTES


class StoreIndex:
    """`history_bytes` bounds what the log may hold; `trim` enforces it."""

    def __init__(self, *, history_bytes: int) -> None:
        self.revision = 0
        #: Invariant: the log holds every event in (compacted, revision].
        self.compacted = 0
        self._records: dict[str, Record] = {}
        self._tables = Tables(self._records)
        self._log: list[Event] = []
        self._log_bytes = 0
        self._history_bytes = history_bytes
        self._watchers = StoreWatches()
        self.get = self._records.get

    @property
    def has_history(self) -> bool:
        return bool(self._log)

    def load(self, records: Iterable[Record], log: list[Event], *, revision: int, compacted: int) -> None:
        """Take over a recovered state: the records at `revision`, the events in (compacted, revision]."""
        for record in records:
            self._records[record.key] = record
            self._tables.touch(record.key)
        self._log = log
        self._log_bytes = sum(map(_size, log))
        self.revision, self.compacted = revision, compacted

    def apply(self, changes: Sequence[Change]) -> None:
        """Make one commit visible and hand it to the watchers."""
        records, touch, log = self._records, self._tables.touch, self._log
        by_table: dict[str, list[Event]] = {}
        events = []
        for event, record in changes:
            key = event.key
            if record is None:
                del records[key]
            else:
                records[key] = record
            table = touch(key)
            if table in by_table:
                by_table[table].append(event)
            else:
                by_table[table] = [event]
            events.append(event)
            self._log_bytes += _size(event)
        log += events
        self.revision = events[-1].revision
        self._watchers.dispatch(by_table, events)

    def range(self, prefix: str, after: str, limit: int, revision: int) -> Range:
        if revision and revision != self.revision:
            return self._range_at(prefix, after, limit, revision)
        records, low, high = self._tables.slice(prefix, after)
        end = min(low + limit, high) if limit else high
        return Range(records[low:end], self.revision, high - end)

    def contents(self, prefix: str) -> Contents:
        return Contents(*self._tables.values(prefix), self.revision)

    def count(self, prefix: str) -> int:
        _, low, high = self._tables.slice(prefix)
        return high - low

    def watch(self, prefix: str, since: int, sink: Sink) -> Subscription:
        backlog = [event for event in self._after(since) if event.key.startswith(prefix)]
        watcher = self._watchers.add(prefix, self.revision, sink)
        watcher.deliver(backlog)
        return watcher

    def compact(self, revision: int) -> list[Event]:
        """Forget up to and including `revision`; returns the forgotten events."""
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision <= self.compacted:
            return []
        self.compacted = revision
        end = bisect_right(self._log, revision, key=_revision_of)
        forgotten = self._log[:end]
        del self._log[:end]
        self._log_bytes -= sum(map(_size, forgotten))
        return forgotten

    def trim(self) -> list[Event]:
        """When the log is over its bound, forget the oldest tenth or more; returns the forgotten events."""
        if self._log_bytes <= self._history_bytes:
            return []
        excess = self._log_bytes - self._history_bytes * 9 // 10
        for event in self._log:
            excess -= _size(event)
            if excess <= 0:
                return self.compact(event.revision)
        return self.compact(self.revision)

    def close(self) -> None:
        """Cancel all watchers. Reads go on."""
        self._watchers.close()

    def _after(self, revision: int) -> list[Event]:
        """The events after `revision`, oldest first."""
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision == self.revision:
            return []
        return self._log[bisect_right(self._log, revision, key=_revision_of) :]

    def _range_at(self, prefix: str, after: str, limit: int, revision: int) -> Range:
        """The range as it was: today's, with the keys that changed since replaced by what they were."""
        then: dict[str, Record | None] = {
            event.key: event.previous
            for event in reversed(self._after(revision))
            if event.key.startswith(prefix) and event.key > after
        }
        records, low, high = self._tables.slice(prefix, after)
        known = self._records
        total = high - low + sum((was is not None) - (key in known) for key, was in then.items())
        wanted = min(limit, total) if limit else total
        # The slice can only lose len(then) of its keys, so this many hold all that are wanted.
        window = records[low : min(high, low + wanted + len(then))]
        if then:
            window = [record for record in window if record.key not in then]
            window += [was for was in then.values() if was is not None]
            window.sort(key=_key_of)
        return Range(window[:wanted], revision, total - wanted)
