"""The log: what is durable, what may be delivered, and what a truncation leaves of both."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from steersman.raft.core import ContractBroken, Entry, HardState, LogLost, SnapshotMeta
from steersman.raft.core.log import Log
from tests.sim.raft.disk import Content, HeldSnapshot


def _entries(first: int, terms: Iterable[int]) -> list[Entry]:
    return [Entry(index, term, data=b"x") for index, term in enumerate(terms, start=first)]


def _log(terms: Iterable[int] = (), cache_bytes: int = 1 << 20) -> tuple[Log, Content]:
    """A log whose entries, from 2 on, have these terms and are durable."""
    content = Content.of_founder([1])
    content.log = _entries(2, terms)
    return Log(content, cache_bytes), content


def _terms(log: Log) -> list[int]:
    return [log.term(index) for index in range(log.first, log.last + 1)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param(_entries(5, [3]), [2, 2, 2, 3], id="new-ones-are-appended"),
        pytest.param(_entries(4, [2, 3]), [2, 2, 2, 3], id="what-is-there-is-skipped"),
        pytest.param(_entries(3, [2]), [2, 2, 2], id="a-delayed-message-cuts-nothing-off"),
        pytest.param(_entries(3, [3]), [2, 3], id="a-conflict-cuts-what-follows"),
        pytest.param(_entries(2, [2, 3, 3]), [2, 3, 3], id="a-conflict-after-what-is-there"),
    ],
)
def test_merge(entries: list[Entry], expected: list[int]) -> None:
    log, _ = _log([2, 2, 2])
    log.merge(entries)
    assert _terms(log) == expected


def test_committed_entries_are_never_cut() -> None:
    log, _ = _log([2, 2])
    log.commit_to(3)
    with pytest.raises(LogLost):
        log.merge(_entries(3, [3]))


def test_a_commit_beyond_the_end_tells_that_the_log_was_lost() -> None:
    log, _ = _log([2, 2])
    with pytest.raises(LogLost):
        log.commit_to(4)


def test_only_durable_entries_are_delivered() -> None:
    log, _ = _log()
    log.append(_entries(2, [2, 2]))
    log.commit_to(3)
    assert not log.deliver(100)
    log.take_unwritten(1)
    assert not log.deliver(100)
    log.persisted(1)
    assert [entry.index for entry in log.deliver(100)] == [2, 3]
    assert not log.deliver(100)


def test_a_write_that_was_overtaken_by_a_truncation_proves_nothing_about_what_replaced_it() -> None:
    log, _ = _log()
    log.append(_entries(2, [2, 2]))
    log.take_unwritten(1)
    log.merge(_entries(3, [3]))
    log.take_unwritten(2)
    # Back to an entry equal to the first one: the disk will have written the other in between.
    log.merge([Entry(3, 2, data=b"x")])
    log.take_unwritten(3)
    log.persisted(1)
    assert log.stable == 2
    log.persisted(2)
    assert log.stable == 2
    log.persisted(3)
    assert log.stable == 3


def test_what_was_given_to_the_disk_and_cut_is_given_again() -> None:
    log, _ = _log()
    log.append(_entries(2, [2, 2]))
    assert [entry.term for entry in log.take_unwritten(1)] == [2, 2]
    log.merge(_entries(2, [3]))
    assert [(entry.index, entry.term) for entry in log.take_unwritten(2)] == [(2, 3)]
    assert not log.take_unwritten(3)


def test_the_window_lets_go_of_durable_entries_only_and_reads_them_back() -> None:
    log, content = _log(cache_bytes=100)
    new = _entries(2, [2] * 10)
    log.append(new)
    log.take_unwritten(1)
    content.log += new
    assert log._window == new
    log.persisted(1)
    assert len(log._window) < 3
    assert _terms(log) == [2] * 10
    assert log.entries(2, 5, 1 << 20) == new[:3]
    log.append(_entries(12, [4]))
    assert log.term(12) == 4


def test_truncating_below_the_window() -> None:
    log, _ = _log([2, 2, 2])
    log.merge(_entries(3, [3]))
    assert (_terms(log), log.stable, log.last) == ([2, 3], 2, 3)


@pytest.mark.parametrize("durable", [True, False], ids=["in-storage", "in-memory"])
def test_entries_respect_the_size_but_are_never_none(durable: bool) -> None:
    log, _ = _log([2, 2, 2] if durable else ())
    if not durable:
        log.append(_entries(2, [2, 2, 2]))
    size = Entry(2, 2, data=b"x").size
    assert [len(log.entries(2, 5, limit)) for limit in (1, size, 2 * size, 2 * size + 1, 9 * size)] == [
        1, 1, 2, 2, 3,
    ]  # fmt: skip


@pytest.mark.parametrize(("low", "high"), [(1, 3), (2, 6), (3, 3)])
def test_entries_that_are_not_there(low: int, high: int) -> None:
    log, _ = _log([2, 2, 2])
    with pytest.raises(ContractBroken):
        log.entries(low, high, 100)


@pytest.mark.parametrize(
    ("index", "term", "expected"),
    [
        pytest.param(9, 4, (6, 4), id="not-beyond-the-end"),
        pytest.param(6, 3, (4, 2), id="newer-terms-are-skipped"),
        pytest.param(5, 1, (1, 1), id="down-to-the-snapshot"),
    ],
)
def test_hint(index: int, term: int, expected: tuple[int, int]) -> None:
    log, _ = _log([2, 2, 2, 4, 4])
    assert log.hint(index, term) == expected


@pytest.mark.parametrize(
    ("last_index", "last_term", "expected"),
    [(3, 3, True), (4, 3, True), (2, 3, False), (9, 2, False), (1, 4, True)],
)
def test_up_to_date_is_decided_by_term_then_by_length(
    last_index: int, last_term: int, expected: bool
) -> None:
    log, _ = _log([2, 3])
    assert log.is_up_to_date(last_index, last_term) is expected


def test_compaction_keeps_the_term_before_the_first_entry() -> None:
    log, _ = _log([2, 3, 4])
    log.commit_to(4)
    log.deliver(1 << 20)
    log.compact(3)
    assert (log.first, log.term(3), log.has(3, 3), log.has(2, 2)) == (4, 3, True, False)
    with pytest.raises(ContractBroken):
        log.compact(5)


def test_a_snapshot_replaces_the_log_and_is_not_durable_at_once() -> None:
    log, _ = _log([2, 2])
    log.append(_entries(4, [2]))
    log.take_unwritten(1)
    log.reset(SnapshotMeta(9, 5))
    assert (log.first, log.last, log.last_term, log.commit, log.delivered) == (10, 9, 5, 9, 9)
    log.persisted(1)
    assert log.stable == 0
    log.append(_entries(10, [5]))
    log.take_unwritten(2)
    log.persisted(2)
    assert log.stable == 10


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(Content(hard=HardState(1, 0, 7)), id="committed-beyond-the-end"),
        pytest.param(Content(base=3), id="compacted-without-a-snapshot"),
        pytest.param(Content(held=HeldSnapshot(SnapshotMeta(4, 1))), id="snapshot-beyond-the-end"),
    ],
)
def test_storage_that_does_not_fit_together(content: Content) -> None:
    with pytest.raises(ContractBroken):
        Log(content, 100)
