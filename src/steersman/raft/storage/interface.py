"""What a node needs of its storage, checked for every kind of it by tests/conformance/raft_storage.

A storage is read on the node's loop, and written there or on its writing thread, one write at a time. A write
happens wholly or not at all; with `sync` it survives a crash of the machine, without it at least one of the
process. Who writes on a thread relies on the others not being kept from running meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from steersman.raft.core import Entry, HardState, LogReader, Ready, Snapshot, SnapshotMeta

__all__ = ["Identity", "SnapshotBytes", "Storage", "Write", "fit", "join"]


#: Stands for a snapshot where there is none.
_NOTHING = SnapshotMeta()


class Identity(msgspec.Struct, frozen=True, array_like=True):
    """Whose log this is. What belongs to another cluster is never mixed with it."""

    #: The name that the cluster's nodes are configured with.
    cluster: str
    #: Drawn when the cluster was founded; empty until this member has found one.
    cluster_id: str
    member: int


@dataclass(frozen=True, slots=True)
class Write:
    """`snapshot` replaces the log; then the first of `entries` replaces everything from its index on."""

    snapshot: Snapshot | None = None
    entries: Sequence[Entry] = ()
    hard_state: HardState | None = None
    sync: bool = True


class Storage(LogReader, Protocol):
    """A log, a hard state, a snapshot and an identity. Everything that fails is a StorageError."""

    @property
    def survives(self) -> bool:
        """Whether it is still there when the process is gone."""
        ...

    def identity(self) -> Identity | None:
        """None before the first `identify`."""
        ...

    def identify(self, identity: Identity) -> None:
        """Keep this, durably."""
        ...

    def write(self, write: Write) -> None: ...

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot of the state machine, durably, beside the log."""
        ...

    def compact(self, index: int) -> None:
        """Delete the entries up to `index`; a snapshot at or after it is stored."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class SnapshotBytes:
    """A stored snapshot as the core reads it, piece by piece."""

    meta: SnapshotMeta = _NOTHING
    data: bytes = b""

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]


def join(readys: Iterable[Ready]) -> Write:
    """One write for several Readys, with the same outcome."""
    snapshot: Snapshot | None = None
    entries: list[Entry] = []
    hard_state: HardState | None = None
    sync = False
    for ready in readys:
        if ready.snapshot is not None:
            snapshot, entries = ready.snapshot, []
        if ready.entries:
            if entries:
                del entries[max(0, ready.entries[0].index - entries[0].index) :]
            entries += ready.entries
        hard_state = ready.hard_state or hard_state
        sync = sync or ready.must_sync
    return Write(snapshot, entries, hard_state, sync)


def fit(entries: Iterable[Entry], max_bytes: int) -> list[Entry]:
    """As many of them as fit, at least one."""
    taken: list[Entry] = []
    size = 0
    for entry in entries:
        size += entry.size
        if taken and size > max_bytes:
            break
        taken.append(entry)
    return taken
