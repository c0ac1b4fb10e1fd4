"""What is kept: entries of the log, the hard state, snapshots; and how the core reads what was kept.

Values only. Storage writes them when a `Ready` says so; the core reads them back through `LogReader`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from steersman.raft.core.membership import Configuration

__all__ = [
    "Entry",
    "EntryKind",
    "HardState",
    "LogReader",
    "Snapshot",
    "SnapshotMeta",
    "StoredSnapshot",
    "founding",
    "size_of",
]

#: What an entry costs beside its data, in memory and on the wire, roughly.
_ENTRY_OVERHEAD = 32


class EntryKind(enum.IntEnum):
    #: `data` is a proposal, for the state machine.
    DATA = 0
    #: A new leader's first entry: committing it commits what its predecessors left.
    NOOP = 1
    #: `data` is an encoded `Configuration`, in force from here on.
    CHANGE = 2


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Two entries with the same index and term are the same entry, in every log."""

    index: int
    term: int
    kind: EntryKind = EntryKind.DATA
    data: bytes = b""

    @property
    def size(self) -> int:
        return len(self.data) + _ENTRY_OVERHEAD


def size_of(entries: Sequence[Entry]) -> int:
    """Of all of them; for the many that come with every write, cheaper than asking each."""
    return sum([len(entry.data) for entry in entries]) + _ENTRY_OVERHEAD * len(entries)


class HardState(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Must survive a crash before a message that follows from it leaves."""

    #: Highest term seen. Never falls.
    term: int = 0
    #: Who got this member's vote in `term`, 0 nobody. Changes only together with `term`, or from 0.
    vote: int = 0
    #: Known to be committed. May fall behind after a crash: it need not be synced.
    commit: int = 0


class SnapshotMeta(msgspec.Struct, frozen=True, array_like=True):
    """Stands for all entries up to `index`."""

    index: int = 0
    term: int = 0
    configuration: Configuration = Configuration()


class Snapshot(msgspec.Struct, frozen=True):
    """A snapshot that came from the leader, complete: replaces log and state machine."""

    meta: SnapshotMeta
    data: bytes


class StoredSnapshot(Protocol):
    """A snapshot being sent. Must stay readable while the core holds it, even if a newer one is stored."""

    @property
    def meta(self) -> SnapshotMeta: ...

    @property
    def size(self) -> int: ...

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; fewer only at the end."""
        ...


class LogReader(Protocol):
    """What the storage has: all that `Raft.persisted` was called for, or more. Asked on the core's thread."""

    def hard_state(self) -> HardState: ...

    def first_index(self) -> int:
        """The oldest entry that is there; one more than `last_index` when there is none."""
        ...

    def last_index(self) -> int: ...

    def term(self, index: int) -> int:
        """Of an entry, or of the one right before `first_index`, whose term is kept when it is compacted."""
        ...

    def entries(self, low: int, high: int, max_bytes: int) -> Sequence[Entry]:
        """Entries from `low` to before `high`; fewer when they exceed `max_bytes`, but at least one."""
        ...

    def snapshot(self) -> StoredSnapshot:
        """The newest; with meta.index 0 when there is none. Never older than `first_index` - 1."""
        ...


def founding(voters: Iterable[int]) -> tuple[HardState, SnapshotMeta]:
    """What every founder of a cluster stores before its first start: an empty snapshot at index 1.

    Because the log starts after a snapshot, whoever joins later receives the founders' configuration, too.
    """
    meta = SnapshotMeta(index=1, term=1, configuration=Configuration(voters=frozenset(voters)))
    return HardState(term=1, vote=0, commit=1), meta
