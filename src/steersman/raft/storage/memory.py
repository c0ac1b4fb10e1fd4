"""A log in memory: for tests, and for nodes that rejoin as somebody new when they restart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from steersman.raft.core import Entry, HardState, Snapshot
from steersman.raft.storage.interface import Identity, SnapshotBytes, Write, fit

__all__ = ["MemoryStorage"]


class MemoryStorage:
    survives = False

    def __init__(self) -> None:
        self._identity: Identity | None = None
        self._hard_state = HardState()
        self._snapshot = SnapshotBytes()
        #: Index and term of the entry before the first.
        self._before = (0, 0)
        self._entries: list[Entry] = []

    def identity(self) -> Identity | None:
        return self._identity

    def identify(self, identity: Identity) -> None:
        self._identity = identity

    # LogReader

    def hard_state(self) -> HardState:
        return self._hard_state

    def first_index(self) -> int:
        return self._before[0] + 1

    def last_index(self) -> int:
        return self._before[0] + len(self._entries)

    def term(self, index: int) -> int:
        before, term = self._before
        return term if index == before else self._entries[index - before - 1].term

    def entries(self, low: int, high: int, max_bytes: int) -> Sequence[Entry]:
        before = self._before[0]
        return fit(islice(self._entries, low - before - 1, high - before - 1), max_bytes)

    def snapshot(self) -> SnapshotBytes:
        return self._snapshot

    # Writing

    def write(self, write: Write) -> None:
        if write.snapshot is not None:
            meta = write.snapshot.meta
            self._snapshot = SnapshotBytes(meta, write.snapshot.data)
            self._before = (meta.index, meta.term)
            self._entries = []
        if write.entries:
            del self._entries[write.entries[0].index - self._before[0] - 1 :]
            self._entries += write.entries
        if write.hard_state is not None:
            self._hard_state = write.hard_state

    def save_snapshot(self, snapshot: Snapshot) -> None:
        self._snapshot = SnapshotBytes(snapshot.meta, snapshot.data)

    def compact(self, index: int) -> None:
        before = self._before[0]
        if index <= before:
            return
        self._before = (index, self.term(index))
        self._entries = self._entries[index - before :]

    def close(self) -> None:
        """Nothing to do."""
