"""Put and delete: revisions, preconditions, stamping, concurrency, cancellation."""

from __future__ import annotations

import asyncio

import pytest

from steersman.cluster.store import Conflict, NotFound, Record


def stamp(value: bytes, revision: int) -> bytes:
    """Replaces what is behind the last @, so that a kept value can be stamped again."""
    return value.rpartition(b"@")[0] + b"@%d" % revision


async def test_an_empty_store_is_at_revision_zero(engine):
    async with engine() as store:
        assert (store.revision, store.compacted, store.get("/a/b/c")) == (0, 0, None)


async def test_a_put_is_visible_when_acknowledged(engine):
    async with engine() as store:
        record = await store.put("/a/b/c", b"1")
        assert record == Record("/a/b/c", b"1", 1, 1) == store.get("/a/b/c")
        await store.sync()
        assert store.revision == 1


async def test_every_write_gets_the_next_revision(engine):
    async with engine() as store:
        assert (await store.put("/a/b/c", b"1")).revision == 1
        assert (await store.put("/x/y/z", b"1")).revision == 2
        assert (await store.delete("/a/b/c")).revision == 3
        assert (await store.put("/a/b/c", b"2")).revision == 4


async def test_created_is_kept_by_updates_and_renewed_by_creation(engine):
    async with engine() as store:
        await store.put("k", b"1")
        assert (await store.put("k", b"2")).created == 1
        await store.delete("k")
        assert (await store.put("k", b"3")).created == 4


@pytest.mark.parametrize(
    ("before", "expected"),
    [(None, 0), (b"1", 1), (b"1", None), (None, None)],
    ids=["create", "update at its revision", "overwrite", "create or overwrite"],
)
async def test_a_put_whose_expectation_holds_is_done(engine, before, expected):
    async with engine() as store:
        if before is not None:
            await store.put("k", before)
        assert (await store.put("k", b"new", expected=expected)).value == b"new"


@pytest.mark.parametrize(
    ("before", "expected"),
    [(b"1", 0), (b"1", 7), (None, 7)],
    ids=["create what exists", "update at another revision", "update what does not exist"],
)
async def test_a_put_whose_expectation_fails_shows_the_current_record(engine, before, expected):
    async with engine() as store:
        if before is not None:
            await store.put("k", before)
        current = store.get("k")
        with pytest.raises(Conflict) as refused:
            await store.put("k", b"new", expected=expected)
        assert refused.value.record == current == store.get("k")
        assert store.revision == (0 if current is None else 1)


async def test_a_deletion_returns_the_last_value_and_what_was_there(engine):
    async with engine(stamp=stamp) as store:
        record = await store.put("k", b"v@")
        event = await store.delete("k", expected=1)
        assert (event.key, event.revision, event.value, event.deleted) == ("k", 2, b"v@2", True)
        assert event.previous == record
        assert store.get("k") is None


async def test_a_deletion_is_refused_when_absent_or_at_another_revision(engine):
    async with engine() as store:
        with pytest.raises(NotFound):
            await store.delete("k")
        with pytest.raises(NotFound):
            await store.delete("k", expected=3)
        record = await store.put("k", b"1")
        with pytest.raises(Conflict) as refused:
            await store.delete("k", expected=7)
        assert refused.value.record == record == store.get("k")


async def test_values_are_stamped_once_with_their_revision(engine):
    calls = []

    def counting(value: bytes, revision: int) -> bytes:
        calls.append(revision)
        return stamp(value, revision)

    async with engine(stamp=counting) as store:
        events = []
        store.watch("", 0, events.extend)
        first = await store.put("k", b"a@")
        second = await store.put("k", b"b@")
        assert [first.value, second.value] == [b"a@1", b"b@2"] == [event.value for event in events]
        assert store.get("k") == second
        assert list(store.range("").records) == [second]
        assert calls == [1, 2]


async def test_a_stamp_that_fails_refuses_its_write_only(engine):
    def picky(value: bytes, revision: int) -> bytes:
        if value == b"bad":
            raise ValueError(value)
        return value

    async with engine(stamp=picky) as store:
        with pytest.raises(ValueError, match="bad"):
            await store.put("k", b"bad")
        assert (await store.put("k", b"good")).revision == 1


async def test_concurrent_writers_get_distinct_consecutive_revisions(engine):
    async with engine() as store:
        records = await asyncio.gather(*(store.put(f"/a/b/{n}", b"v") for n in range(200)))
        assert sorted(record.revision for record in records) == list(range(1, 201))
        assert store.count("/a/b/") == 200


async def test_of_concurrent_creators_of_one_key_one_wins(engine):
    async with engine() as store:
        outcomes = await asyncio.gather(
            *(store.put("k", b"%d" % n, expected=0) for n in range(20)), return_exceptions=True
        )
        winners = [outcome for outcome in outcomes if isinstance(outcome, Record)]
        losers = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
        assert len(winners) == 1
        assert len(losers) == 19
        assert {loser.record for loser in losers} == set(winners) == {store.get("k")}


async def test_a_counter_behind_compare_and_put_loses_no_increment(engine):
    async with engine() as store:
        await store.put("counter", b"0")

        async def increment() -> None:
            record = store.get("counter")
            while True:
                try:
                    await store.put("counter", b"%d" % (int(record.value) + 1), expected=record.revision)
                    return
                except Conflict as conflict:
                    record = conflict.record

        await asyncio.gather(*(increment() for _ in range(24)))
        assert store.get("counter") == Record("counter", b"24", 25, 1)


async def test_writes_of_one_turn_build_on_each_other(engine):
    async with engine() as store:
        outcomes = await asyncio.gather(
            store.put("k", b"1", expected=0),
            store.put("k", b"2", expected=1),
            store.delete("k", expected=2),
            store.put("k", b"3", expected=0),
        )
        assert [outcome.revision for outcome in outcomes] == [1, 2, 3, 4]
        assert store.get("k") == Record("k", b"3", 4, 4)


async def test_a_cancelled_writer_leaves_a_consistent_store(engine):
    async with engine() as store:
        events = []
        store.watch("", 0, events.extend)
        task = asyncio.create_task(store.put("k", b"1"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        last = await store.put("other", b"2")
        current = store.get("k")
        assert [event.key for event in events] == (["other"] if current is None else ["k", "other"])
        assert events[-1].revision == last.revision == store.revision
        with pytest.raises(Conflict):
            await store.put("k", b"3", expected=99)
        await store.put("k", b"4", expected=0 if current is None else current.revision)


async def test_large_and_empty_values_are_kept(engine):
    async with engine() as store:
        for value in (b"", b"\0" * 3, bytes(range(256)) * 4096):
            await store.put("k", value)
            assert store.get("k").value == value


async def test_keys_are_any_text(engine):
    keys = [
        "x",
        "/",
        "/a",
        "/a/b",
        "/a/b/",
        "/a/b/c/d/e",
        "ключ",
        "/a/b/\U0010ffff",
        "'; DROP TABLE log;--",
        "a\0b",
    ]
    async with engine() as store:
        for key in keys:
            await store.put(key, key.encode())
        assert [record.key for record in store.range("").records] == sorted(keys)
        assert all(store.get(key).value == key.encode() for key in keys)
