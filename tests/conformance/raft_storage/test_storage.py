"""What the node and the core rely on, of every storage."""

from __future__ import annotations

import pytest

from steersman.raft.core import Configuration, Entry, EntryKind, HardState, Snapshot, SnapshotMeta
from steersman.raft.storage import Identity, Storage, Write

ENOUGH = 1 << 20


def entry(index: int, term: int = 1, data: bytes = b"") -> Entry:
    return Entry(index, term, EntryKind.DATA, data)


def log(storage: Storage) -> list[tuple[int, int]]:
    first, last = storage.first_index(), storage.last_index()
    return [(e.index, e.term) for e in storage.entries(first, last + 1, ENOUGH)] if last >= first else []


def test_a_new_storage_is_empty(storage):
    assert storage.identity() is None
    assert storage.hard_state() == HardState()
    assert (storage.first_index(), storage.last_index()) == (1, 0)
    assert storage.term(0) == 0
    assert storage.snapshot().meta == SnapshotMeta()
    assert storage.snapshot().size == 0


def test_what_was_written_is_read(storage):
    written = [entry(1, 1, b"one"), Entry(2, 1, EntryKind.NOOP), Entry(3, 2, EntryKind.CHANGE, b"three")]
    storage.write(Write(entries=written, hard_state=HardState(2, 7, 1)))
    assert list(storage.entries(1, 4, ENOUGH)) == written
    assert storage.entries(1, 4, ENOUGH)[2].kind is EntryKind.CHANGE
    assert storage.hard_state() == HardState(2, 7, 1)
    assert [storage.term(index) for index in range(4)] == [0, 1, 1, 2]


def test_identity_is_kept(storage):
    storage.identify(Identity("cluster", "", 7))
    storage.identify(Identity("cluster", "id", 7))
    assert storage.identity() == Identity("cluster", "id", 7)


@pytest.mark.parametrize(
    "then, expected",
    [
        pytest.param([entry(4, 2)], [(1, 1), (2, 1), (3, 1), (4, 2)], id="after the end"),
        pytest.param([entry(3, 2)], [(1, 1), (2, 1), (3, 2)], id="instead of the last"),
        pytest.param([entry(2, 2)], [(1, 1), (2, 2)], id="instead of several, and shorter"),
        pytest.param([entry(1, 2), entry(2, 2)], [(1, 2), (2, 2)], id="instead of all"),
    ],
)
def test_the_first_entry_replaces_everything_from_its_index_on(storage, then, expected):
    storage.write(Write(entries=[entry(1), entry(2), entry(3)]))
    storage.write(Write(entries=then))
    assert log(storage) == expected
    assert storage.last_index() == expected[-1][0]


def test_entries_stop_at_the_size_but_give_at_least_one(storage):
    storage.write(Write(entries=[entry(index, data=bytes(1000)) for index in range(1, 6)]))
    assert len(storage.entries(1, 6, 2500)) == 2
    assert len(storage.entries(3, 6, 1)) == 1


def test_a_received_snapshot_replaces_the_log(storage):
    storage.write(Write(entries=[entry(1), entry(2), entry(3)]))
    meta = SnapshotMeta(10, 4, Configuration(voters=frozenset({1, 2})))
    storage.write(Write(snapshot=Snapshot(meta, b"state"), entries=[entry(11, 5)]))
    assert (storage.first_index(), storage.last_index()) == (11, 11)
    assert (storage.term(10), storage.term(11)) == (4, 5)
    assert storage.snapshot().meta == meta
    assert storage.snapshot().read(0, 100) == b"state"


def test_an_own_snapshot_leaves_the_log_until_it_is_compacted(storage):
    storage.write(Write(entries=[entry(index, index) for index in range(1, 8)]))
    storage.save_snapshot(Snapshot(SnapshotMeta(6, 6), b"state"))
    assert storage.first_index() == 1
    storage.compact(4)
    assert (storage.first_index(), storage.last_index()) == (5, 7)
    assert storage.term(4) == 4, "the term before the first is kept"
    assert log(storage) == [(5, 5), (6, 6), (7, 7)]
    storage.compact(4)
    assert storage.first_index() == 5
    storage.write(Write(entries=[entry(6, 9)]))
    assert log(storage) == [(5, 5), (6, 9)]


def test_a_log_may_be_compacted_to_its_end(storage):
    storage.write(Write(entries=[entry(1), entry(2)]))
    storage.save_snapshot(Snapshot(SnapshotMeta(2, 1), b""))
    storage.compact(2)
    assert (storage.first_index(), storage.last_index(), storage.term(2)) == (3, 2, 1)


def test_a_snapshot_being_sent_stays_readable_when_a_newer_one_is_stored(storage):
    storage.write(Write(entries=[entry(1), entry(2)]))
    storage.save_snapshot(Snapshot(SnapshotMeta(1, 1), b"older"))
    sending = storage.snapshot()
    storage.save_snapshot(Snapshot(SnapshotMeta(2, 1), b"newer"))
    assert sending.read(0, 3) + sending.read(3, 3) == b"older"
    assert (sending.size, sending.meta.index) == (5, 1)
