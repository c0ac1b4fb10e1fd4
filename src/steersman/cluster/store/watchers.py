"""The watches of a store, and dispatching the events of a commit to them.

Called by the index only, on the loop. Dispatch costs in proportion to the events and to the watches of the
tables they touch, however many other watches there are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from steersman.cluster.store.interface import Event, Sink
from steersman.cluster.store.tables import table_of

__all__ = ["StoreWatch", "StoreWatches"]

log = logging.getLogger(__name__)


class StoreWatch:
    """One watch. `seen` is the newest revision its sink has been sent or has passed over."""

    __slots__ = ("_owner", "prefix", "seen", "sink")

    def __init__(self, owner: StoreWatches, prefix: str, seen: int, sink: Sink) -> None:
        self._owner = owner
        self.prefix = prefix
        self.seen = seen
        #: None when cancelled.
        self.sink: Sink | None = sink

    def cancel(self) -> None:
        if self.sink is not None:
            self.sink = None
            self._owner.remove(self)

    def deliver(self, events: Sequence[Event]) -> None:
        if self.sink is None or not events:
            return
        try:
            self.sink(events)
        except Exception:
            log.exception("the watcher of %r failed and is cancelled", self.prefix)
            self.cancel()


class StoreWatches:
    """All watches of a store."""

    def __init__(self) -> None:
        #: By the table their prefix lies in; "" holds those whose prefix spans tables.
        self._by_table: dict[str, list[StoreWatch]] = {}

    def add(self, prefix: str, seen: int, sink: Sink) -> StoreWatch:
        watcher = StoreWatch(self, prefix, seen, sink)
        self._by_table.setdefault(table_of(prefix), []).append(watcher)
        return watcher

    def remove(self, watcher: StoreWatch) -> None:
        name = table_of(watcher.prefix)
        self._by_table[name].remove(watcher)
        if not self._by_table[name]:
            del self._by_table[name]

    def dispatch(self, by_table: dict[str, list[Event]], events: Sequence[Event]) -> None:
        """Hand out one commit: `events` in revision order, and the same grouped by table."""
        revision = events[-1].revision
        for name, own in by_table.items():
            if name and name in self._by_table:
                self._deliver(name, own, revision)
        if "" in self._by_table:
            self._deliver("", events, revision)

    def close(self) -> None:
        for watchers in list(self._by_table.values()):
            for watcher in list(watchers):
                watcher.cancel()

    def _deliver(self, name: str, events: Sequence[Event], revision: int) -> None:
        # A sink may subscribe or cancel. Who subscribes meanwhile got these events as backlog.
        for watcher in tuple(self._by_table[name]):
            if watcher.seen >= revision:
                continue
            watcher.seen = revision
            if watcher.prefix == name and name:
                watcher.deliver(events)
            else:
                watcher.deliver([event for event in events if event.key.startswith(watcher.prefix)])
