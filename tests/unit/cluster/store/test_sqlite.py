"""The SQLite engine when its disk is slow or fails: the seam is `connect`, whose connection obeys us."""

from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest

from steersman.cluster.store import (
    Closed,
    Conflict,
    DiskFull,
    Locked,
    NotFound,
    Record,
    SqliteStore,
    SyncFailed,
    Unavailable,
)
from tests.support.waiting import until


class Disk:
    """Opens the store's file; then statements wait until `go` is set, and those that start as one of
    `failing` does fail with its code, always or `once`."""

    def __init__(self):
        self.go = threading.Event()
        self.go.set()
        self.failing: dict[str, int] = {}
        self.once = False
        self.statements: list[str] = []

    def connect(self, path):
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, statement, *parameters):
                disk.statements.append(statement)
                assert disk.go.wait(10)
                for start, code in list(disk.failing.items()):
                    if statement.startswith(start):
                        if disk.once:
                            disk.failing = {}
                        error = sqlite3.OperationalError("as told")
                        error.sqlite_errorcode = code
                        raise error
                return super().execute(statement, *parameters)

        return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Connection)

    def commits(self):
        return sum(statement.startswith("INSERT INTO log") for statement in self.statements)


@pytest.fixture
def disk():
    return Disk()


def run(test, folder, disk, **options):
    async def main():
        store = await SqliteStore.open(folder, connect=disk.connect, **options)
        try:
            await test(store)
        finally:
            disk.go.set()
            disk.failing.clear()
            await store.close()

    asyncio.run(main())


async def turns(number=5):
    for _ in range(number):
        await asyncio.sleep(0)


def start(*writes):
    return [asyncio.ensure_future(write) for write in writes]


def test_writes_that_queue_during_a_commit_share_the_next(tmp_path, disk):
    async def test(store):
        disk.go.clear()
        writes = start(store.put("first", b""))
        await turns()
        writes += start(*(store.put(f"/a/b/{n}", b"") for n in range(40)))
        await turns()
        assert store.revision == 0
        disk.go.set()
        assert [record.revision for record in await asyncio.gather(*writes)] == list(range(1, 42))
        assert disk.commits() == 2

    run(test, tmp_path, disk)


def test_a_pending_write_is_neither_read_nor_watched(tmp_path, disk):
    async def test(store):
        events = []
        store.watch("", 0, events.extend)
        disk.go.clear()
        writes = start(store.put("k", b"1"))
        await turns()
        assert (store.get("k"), store.revision, store.count(""), events) == (None, 0, 0, [])
        disk.go.set()
        await asyncio.gather(*writes)
        assert len(events) == 1

    run(test, tmp_path, disk)


def test_a_refusal_because_of_a_pending_write_waits_for_its_fate(tmp_path, disk):
    async def test(store):
        await store.put("gone", b"")
        disk.go.clear()
        first, second, third, fourth = start(
            store.put("k", b"1", expected=0),
            store.put("k", b"2", expected=0),
            store.delete("gone"),
            store.delete("gone"),
        )
        await turns()
        assert not second.done()
        assert not fourth.done()
        disk.go.set()
        record = await first
        with pytest.raises(Conflict) as refused:
            await second
        assert refused.value.record == record
        await third
        with pytest.raises(NotFound):
            await fourth

    run(test, tmp_path, disk)


def test_a_write_refused_only_by_one_that_failed_is_done(tmp_path, disk):
    async def test(store):
        disk.failing["INSERT"] = sqlite3.SQLITE_FULL
        disk.once = True
        disk.go.clear()
        first, second = start(store.put("k", b"1", expected=0), store.put("k", b"2", expected=0))
        await turns()
        disk.go.set()
        with pytest.raises(DiskFull):
            await first
        assert await second == Record("k", b"2", 1, 1)

    run(test, tmp_path, disk)


@pytest.mark.parametrize(
    ("code", "error", "text"),
    [
        (sqlite3.SQLITE_FULL, DiskFull, "no space left on the disk of"),
        (sqlite3.SQLITE_IOERR_WRITE, Unavailable, "could not be written: as told"),
    ],
    ids=["disk full", "i/o error"],
)
def test_a_failed_batch_refuses_all_behind_it_and_the_store_goes_on(tmp_path, disk, code, error, text):
    async def test(store):
        kept = await store.put("k", b"kept")
        events = []
        store.watch("", 1, events.extend)
        disk.failing["INSERT"] = code
        disk.go.clear()
        writes = start(store.put("k", b"a", expected=1))
        await turns()
        writes += start(store.put("k", b"b", expected=2), store.put("other", b"c"), store.delete("k"))
        await turns()
        disk.go.set()
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {error}
        assert all(text in str(outcome) for outcome in outcomes)
        assert len(set(map(id, outcomes))) == len(outcomes)
        assert (store.get("k"), store.revision, events) == (kept, 1, [])
        disk.failing.clear()
        assert (await store.put("k", b"d", expected=1)).revision == 2
        assert [event.value for event in events] == [b"d"]

    run(test, tmp_path, disk)
    run(lambda store: check(store, {"k": b"d"}), tmp_path, disk)


async def check(store, values):
    assert {record.key: record.value for record in store.range("").records} == values


def test_a_batch_larger_than_a_statement_is_all_or_nothing(tmp_path, disk):
    async def test(store):
        disk.failing["COMMIT"] = sqlite3.SQLITE_FULL
        outcomes = await asyncio.gather(
            *(store.put(f"/a/b/{n}", b"") for n in range(100)), return_exceptions=True
        )
        assert {type(outcome) for outcome in outcomes} == {DiskFull}

    run(test, tmp_path, disk)
    run(lambda store: check(store, {}), tmp_path, disk)


def test_a_transaction_that_could_not_be_rolled_back_swallows_no_later_write(tmp_path, disk):
    async def test(store):
        disk.failing = {"COMMIT": sqlite3.SQLITE_IOERR_WRITE, "ROLLBACK": sqlite3.SQLITE_IOERR_WRITE}
        await asyncio.gather(*(store.put(f"/a/b/{n}", b"") for n in range(100)), return_exceptions=True)
        with pytest.raises(Unavailable):
            await store.put("k", b"1")
        disk.failing = {}
        assert (await store.put("k", b"2")).revision == 1

    run(test, tmp_path, disk)
    run(lambda store: check(store, {"k": b"2"}), tmp_path, disk)


def test_refusing_and_accepting_again_are_each_logged_once(tmp_path, disk, caplog):
    async def test(store):
        disk.failing["INSERT"] = sqlite3.SQLITE_FULL
        for _ in range(3):
            await asyncio.gather(store.put("k", b""), return_exceptions=True)
        disk.failing = {}
        for _ in range(3):
            await store.put("k", b"")

    run(test, tmp_path, disk)
    refused, accepted = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert refused.startswith("writes are refused: no space left on the disk of")
    assert accepted == "writes are accepted again"


@pytest.mark.parametrize("where", ["INSERT", "PRAGMA wal_checkpoint"])
@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC])
def test_a_failed_fsync_is_fatal(tmp_path, disk, where, code):
    fatal = []

    async def test(store):
        disk.failing[where] = code
        outcomes = [
            (await asyncio.gather(store.put("k", b"x" * 1_000_000), return_exceptions=True))[0]
            for _ in range(10)
        ]
        assert isinstance(outcomes[-1], Unavailable)
        assert "could not be made durable" in str(outcomes[-1])
        disk.failing.clear()
        with pytest.raises(Unavailable):
            await store.put("k", b"after")
        assert [type(error) for error in fatal] == [SyncFailed]

    run(test, tmp_path, disk, on_fatal=fatal.append)


def test_history_that_cannot_be_removed_is_removed_later(tmp_path, disk):
    async def test(store):
        for n in range(5):
            await store.put("k", b"%d" % n)
        disk.failing["DELETE"] = sqlite3.SQLITE_FULL
        with pytest.raises(DiskFull):
            await store.compact(5)
        disk.failing.clear()
        await store.put("k", b"last")

    run(test, tmp_path, disk)

    async def reopened(store):
        assert (store.compacted, store.revision) == (5, 6)

    run(reopened, tmp_path, disk)


def test_forgotten_history_is_removed_from_the_file(tmp_path, disk):
    async def test(store):
        await asyncio.gather(*(store.put(f"/a/b/{n % 10}", b"x" * 1000) for n in range(1000)))
        for n in range(5):
            await store.delete(f"/a/b/{n}")
        await store.compact(1005)
        await until(lambda: sum(statement.startswith("DELETE") for statement in disk.statements) >= 4)

    run(test, tmp_path, disk)
    database = sqlite3.connect(tmp_path / "store.db")
    assert [row[0] for row in database.execute("SELECT revision FROM log")] == [996, 997, 998, 999, 1000]
    database.close()


def test_a_key_that_cannot_be_written_refuses_and_hangs_nobody(tmp_path, disk, caplog):
    async def test(store):
        with pytest.raises(Unavailable, match="surrogates not allowed"):
            await store.put("\ud800", b"")
        await store.put("k", b"")

    run(test, tmp_path, disk)
    assert "the committer failed" in caplog.text


def test_closing_during_a_commit_waits_for_it_and_refuses_who_waits(tmp_path, disk):
    async def test(store):
        disk.go.clear()
        first, second = start(store.put("k", b"1", expected=0), store.put("k", b"2", expected=0))
        await turns()
        (closing,) = start(store.close())
        await turns()
        with pytest.raises(Closed):
            await store.put("late", b"")
        closing.cancel()
        await turns()
        disk.go.set()
        assert (await first).revision == 1
        with pytest.raises(Closed):
            await second
        await store.close()

    run(test, tmp_path, disk)
    run(lambda store: check(store, {"k": b"1"}), tmp_path, disk)


def test_a_folder_is_open_once_until_closed(tmp_path, disk):
    async def test(store):
        with pytest.raises(Locked):
            await SqliteStore.open(tmp_path)
        await store.close()
        again = await SqliteStore.open(tmp_path)
        await again.close()

    run(test, tmp_path, disk)


def test_a_store_comes_back_as_it_was(tmp_path, disk):
    async def fill(store):
        for n in range(20):
            await store.put(f"/a/b/{n % 7}", b"%d" % n)
        await store.delete("/a/b/3")
        await store.compact(10)
        fill.range = store.range("")
        fill.events = []
        store.watch("", 10, fill.events.extend)

    async def look(store):
        events = []
        store.watch("", 10, events.extend)
        assert (store.range(""), events, store.compacted) == (fill.range, fill.events, 10)
        assert (await store.put("new", b"")).revision == 22

    run(fill, tmp_path, disk)
    run(look, tmp_path, disk)


def test_a_history_too_large_for_the_new_bound_is_trimmed_at_opening(tmp_path, disk):
    async def fill(store):
        for _ in range(50):
            await store.put("k", b"x" * 1000)

    async def look(store):
        assert 30 < store.compacted < 50

    run(fill, tmp_path, disk)
    run(look, tmp_path, disk, history_bytes=20_000)
