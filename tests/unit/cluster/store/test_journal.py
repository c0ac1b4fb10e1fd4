from __future__ import annotations

import sqlite3
import stat

import pytest

from steersman.cluster.store import Corrupt, Event, Record, Unusable, unstamped
from steersman.cluster.store.journal import FILE, SqliteJournal


def opened(folder):
    return SqliteJournal.open(folder, unstamped)


def written(folder, *steps):
    """A closed file after some appends (lists of rows) and removals (compacted, rows)."""
    journal, _ = opened(folder)
    for step in steps:
        if isinstance(step, list):
            journal.append(step)
        else:
            journal.remove(*step)
    journal.close()


def altered(folder, statement):
    with sqlite3.connect(folder / FILE) as database:
        database.execute(statement)
    database.close()


A1, A2, B3, A4 = (1, "a", 1, b"one"), (2, "a", 1, b"two"), (3, "b", 3, b"b"), (4, "a", 0, None)


def test_a_new_file_is_empty_and_private(tmp_path):
    journal, recovered = opened(tmp_path)
    assert (recovered.records, recovered.log, recovered.revision, recovered.compacted) == ({}, [], 0, 0)
    journal.append([A1])
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    journal.close()


def test_state_and_history_come_back(tmp_path):
    written(tmp_path, [A1, A2], [B3], [A4])
    journal, recovered = opened(tmp_path)
    first, second = Record("a", b"one", 1, 1), Record("a", b"two", 2, 1)
    assert recovered.records == {"b": Record("b", b"b", 3, 3)}
    assert recovered.log == [
        Event("a", 1, b"one", None),
        Event("a", 2, b"two", first),
        Event("b", 3, b"b", None),
        Event("a", 4, b"two", second, True),
    ]
    assert (recovered.revision, recovered.compacted, recovered.garbage) == (4, 0, [])
    journal.close()


def test_the_revision_does_not_go_back_when_the_last_deletion_is_removed(tmp_path):
    written(tmp_path, [A1, A2, B3, A4], (4, [A1, A2, A4]))
    journal, recovered = opened(tmp_path)
    assert recovered.records == {"b": Record("b", b"b", 3, 3)}
    assert (recovered.revision, recovered.compacted, recovered.log) == (4, 4, [])
    journal.append([(5, "a", 5, b"again")])
    journal.close()
    journal, recovered = opened(tmp_path)
    assert recovered.log == [Event("a", 5, b"again", None)]
    journal.close()


@pytest.mark.parametrize("removed", [[], [A1], [A1, A2]], ids=["none", "one", "two"])
def test_rows_a_crash_left_unremoved_are_found_again(tmp_path, removed):
    written(tmp_path, [A1, A2, B3, A4], (4, removed))
    journal, recovered = opened(tmp_path)
    assert recovered.records == {"b": Record("b", b"b", 3, 3)}
    assert recovered.garbage == [row for row in (A1, A2, A4) if row not in removed]
    journal.remove(4, recovered.garbage)
    journal.close()
    journal, recovered = opened(tmp_path)
    assert recovered.garbage == []
    journal.close()


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_batches_of_any_size_are_one_transaction(tmp_path, size):
    rows = [(n, f"k{n}", n, b"v" * n) for n in range(1, size + 1)]
    written(tmp_path, rows)
    journal, recovered = opened(tmp_path)
    assert list(recovered.records.values()) == [Record(key, value, n, n) for n, key, _, value in rows]
    journal.close()


def test_the_write_ahead_log_stays_short(tmp_path):
    journal, _ = opened(tmp_path)
    for revision in range(1, 41):
        journal.append([(revision, "k", 1, b"x" * 1_000_000)])
        journal.checkpoint()
    assert (tmp_path / f"{FILE}-wal").stat().st_size < 10_000_000
    journal.close()


def test_the_file_stays_bounded_under_churn(tmp_path):
    journal, _ = opened(tmp_path)
    previous = None
    for revision in range(1, 301):
        row = (revision, "k", 1, b"x" * 1000)
        journal.append([row])
        if previous:
            journal.remove(revision, [previous])
        journal.checkpoint()
        previous = row
    journal.close()
    assert (tmp_path / FILE).stat().st_size < 100_000


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET value = x'00' WHERE revision = 3",
        "UPDATE log SET key = 'c' WHERE revision = 3",
        "UPDATE log SET value = NULL WHERE revision = 3",
        "UPDATE log SET created = 2 WHERE revision = 3",
        "DELETE FROM log WHERE revision = 1",
        "DELETE FROM log WHERE revision = 3",
        "INSERT INTO log VALUES (9, 'new', 9, x'00', 5)",
        "UPDATE log SET total = total + 1 WHERE revision = 5",
        "UPDATE meta SET removed = 1",
        "DROP TABLE log",
        "DELETE FROM meta",
        "PRAGMA application_id = 1",
    ],
)
def test_a_file_that_does_not_add_up_is_corrupt(tmp_path, statement):
    written(tmp_path, [A1, A2, B3, A4], [(5, "c", 5, b"c")])
    altered(tmp_path, statement)
    with pytest.raises(Corrupt, match=f"{FILE} is corrupt: ") as refused:
        opened(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be taken for one" * 100])
def test_a_file_that_is_no_store_is_corrupt(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(Corrupt):
        opened(tmp_path)


def test_a_write_ahead_log_without_its_file_is_corrupt(tmp_path):
    (tmp_path / f"{FILE}-wal").write_bytes(b"")
    with pytest.raises(Corrupt, match="its write-ahead log is there"):
        opened(tmp_path)


def test_a_draft_left_by_a_crash_is_replaced(tmp_path):
    (tmp_path / f"{FILE}.new").write_bytes(b"half")
    written(tmp_path, [A1])
    assert not (tmp_path / f"{FILE}.new").exists()


def test_a_newer_format_is_refused_by_name(tmp_path):
    written(tmp_path, [A1])
    altered(tmp_path, "PRAGMA user_version = 2")
    with pytest.raises(Unusable, match="it has format 2, this version reads format 1"):
        opened(tmp_path)
