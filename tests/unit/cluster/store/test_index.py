from __future__ import annotations

import pytest

from steersman.cluster.store import Compacted, Event, Record, unstamped
from steersman.cluster.store.changes import change
from steersman.cluster.store.index import EVENT_OVERHEAD_BYTES, StoreIndex


def filled(values, *, history_bytes=1 << 20):
    """An index after writing each value to one key."""
    index = StoreIndex(history_bytes=history_bytes)
    for value in values:
        index.apply([change("/a/b/k", value, index.revision + 1, index.get("/a/b/k"), unstamped)])
    return index


def test_trimming_below_the_bound_forgets_nothing():
    index = filled([b"x"] * 10)
    assert index.trim() == []
    assert index.compacted == 0


def test_trimming_returns_what_it_forgot_and_leaves_room():
    one = 2 * 100 + EVENT_OVERHEAD_BYTES
    index = filled([b"x" * 100] * 21, history_bytes=20 * one)
    forgotten = index.trim()
    assert [event.revision for event in forgotten] == list(range(1, index.compacted + 1))
    assert index.compacted == 3
    assert index.trim() == []


def test_an_event_over_the_bound_is_not_kept():
    index = filled([b"x" * 5000], history_bytes=1000)
    assert len(index.trim()) == 1
    assert not index.has_history
    with pytest.raises(Compacted):
        index.watch("", 0, print)
    assert index.range("", "", 0, 1).records[0].value == b"x" * 5000


def test_a_recovered_state_is_served_with_its_history():
    first, second = Record("/a/b/k", b"1", 4, 4), Record("/a/b/k", b"2", 6, 4)
    lone = Record("lone", b"", 5, 5)
    index = StoreIndex(history_bytes=1 << 20)
    index.load([second, lone], [Event("/a/b/k", 6, b"2", first)], revision=6, compacted=5)
    assert (index.get("lone"), index.count("/a/b/"), index.revision, index.compacted) == (lone, 1, 6, 5)
    assert index.range("/a/b/", "", 0, 5).records == [first]
    assert index.range("", "", 0, 0).records == [second, lone]
    assert [event.revision for event in index.compact(6)] == [6]


def test_a_range_of_a_quiet_table_is_copied_not_made():
    index = filled([b"x"])
    first, second = index.range("/a/b/", "", 0, 0), index.range("/a/b/", "", 0, 0)
    assert first.records is not second.records
    assert first.records[0] is second.records[0]
