"""A disk that forgets in a crash what was not synced."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from steersman.raft.core import Entry, HardState, Ready, SnapshotMeta, founding

__all__ = ["Content", "Disk", "HeldSnapshot"]


@dataclass(frozen=True, slots=True)
class HeldSnapshot:
    meta: SnapshotMeta = field(default_factory=SnapshotMeta)
    data: bytes = b""

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]


@dataclass(slots=True)
class Content:
    """Log, hard state and snapshot: a `LogReader`, and all there is to a storage in memory."""

    hard: HardState = field(default_factory=HardState)
    held: HeldSnapshot = field(default_factory=HeldSnapshot)
    #: Entries up to here are deleted; its term is kept.
    base: int = 0
    base_term: int = 0
    log: list[Entry] = field(default_factory=list)

    @classmethod
    def of_founder(cls, voters: Sequence[int]) -> Content:
        hard, meta = founding(voters)
        return cls(hard, HeldSnapshot(meta), meta.index, meta.term)

    def copy(self) -> Content:
        return replace(self, log=list(self.log))

    def hard_state(self) -> HardState:
        return self.hard

    def first_index(self) -> int:
        return self.base + 1

    def last_index(self) -> int:
        return self.base + len(self.log)

    def term(self, index: int) -> int:
        return self.base_term if index == self.base else self.log[index - self.base - 1].term

    def entries(self, low: int, high: int, max_bytes: int) -> Sequence[Entry]:
        found: list[Entry] = []
        for entry in self.log[low - self.base - 1 : high - self.base - 1]:
            max_bytes -= entry.size
            if max_bytes < 0 and found:
                break
            found.append(entry)
        return found

    def snapshot(self) -> HeldSnapshot:
        return self.held

    def write(self, ready: Ready) -> None:
        if ready.snapshot is not None:
            meta = ready.snapshot.meta
            self.held = HeldSnapshot(meta, ready.snapshot.data)
            self.base, self.base_term, self.log = meta.index, meta.term, []
        if ready.entries:
            assert self.base < ready.entries[0].index <= self.last_index() + 1, "a gap in the log"
            del self.log[ready.entries[0].index - self.base - 1 :]
            self.log += ready.entries
        if ready.hard_state is not None:
            self.hard = ready.hard_state

    def keep(self, snapshot: HeldSnapshot) -> None:
        if snapshot.meta.index > self.held.meta.index:
            self.held = snapshot

    def compact(self, index: int) -> None:
        if self.base < index <= min(self.held.meta.index, self.last_index()):
            self.base_term = self.term(index)
            del self.log[: index - self.base]
            self.base = index


class Disk:
    """`seen` has everything that was written; a crash leaves `durable`, and some of what followed it."""

    def __init__(self, content: Content) -> None:
        self.durable = content
        self.seen = content.copy()
        self._unsynced: deque[Callable[[Content], None]] = deque()

    def write(self, operation: Callable[[Content], None]) -> None:
        operation(self.seen)
        self._unsynced.append(operation)

    def sync(self, count: int) -> None:
        """The oldest `count` operations are durable now."""
        for _ in range(count):
            self._unsynced.popleft()(self.durable)

    @property
    def unsynced(self) -> int:
        return len(self._unsynced)

    def crash(self, rng: Random) -> None:
        """The machine may have written some of it, in order."""
        self.sync(rng.randint(0, len(self._unsynced)))
        self._unsynced.clear()
        self.seen = self.durable.copy()
