"""Forgetting: when asked, in time, and by size; and closing."""

from __future__ import annotations

import asyncio

import pytest

from steersman.cluster.store import Closed, Compacted, FutureRevision, Unavailable
from tests.support.waiting import until


async def test_compaction_forgets_history_not_state(engine):
    async with engine() as store:
        await store.put("a", b"1")
        await store.put("b", b"1")
        await store.delete("a")
        before = store.range("")
        await store.compact(3)
        assert (store.compacted, store.revision) == (3, 3)
        assert store.range("") == before == store.range("", revision=3)
        assert (await store.put("a", b"2")).created == 4


async def test_compacting_again_or_below_is_nothing_and_ahead_is_refused(engine):
    async with engine() as store:
        for _ in range(4):
            await store.put("k", b"")
        await store.compact(3)
        await store.compact(3)
        await store.compact(1)
        assert store.compacted == 3
        with pytest.raises(FutureRevision):
            await store.compact(5)


async def test_watchers_live_through_compaction(engine):
    async with engine() as store:
        events = []
        store.watch("", 0, events.extend)
        await store.put("k", b"1")
        await store.compact(1)
        await store.put("k", b"2")
        assert [event.revision for event in events] == [1, 2]


async def test_history_is_forgotten_in_time(engine):
    async with engine(history_s=0.05) as store:
        await store.put("k", b"1")
        await until(lambda: store.compacted >= 1)
        assert store.get("k").value == b"1"
        await store.put("k", b"2")
        await until(lambda: store.compacted >= 2)


async def test_history_is_bounded_in_bytes(engine):
    async with engine(history_bytes=50_000) as store:
        for n in range(200):
            await store.put(f"/a/b/{n % 3}", b"x" * 1000)
        assert 150 < store.compacted < 200
        assert store.count("") == 3
        events = []
        store.watch("", store.compacted, events.extend)
        assert [event.revision for event in events] == list(range(store.compacted + 1, 201))
        with pytest.raises(Compacted):
            store.watch("", store.compacted - 1, events.extend)


async def test_a_closed_store_refuses_writes_and_answers_reads(engine):
    async with engine() as store:
        events = []
        record = await store.put("k", b"1")
        store.watch("", 1, events.extend)
        await store.close()
        for write in (store.put("k", b"2"), store.delete("k"), store.put("new", b"", expected=0)):
            with pytest.raises(Closed) as refused:
                await write
            assert isinstance(refused.value, Unavailable)
        assert store.get("k") == record
        assert list(store.range("").records) == [record]
        assert events == []


async def test_closing_finishes_what_was_submitted(engine):
    async with engine() as store:
        writes = [asyncio.create_task(store.put(f"/a/b/{n}", b"")) for n in range(20)]
        await asyncio.sleep(0)
        await store.close()
        assert sorted(record.revision for record in await asyncio.gather(*writes)) == list(range(1, 21))
        assert store.count("/a/b/") == 20


async def test_closing_twice_and_at_once_is_one_closing(engine):
    async with engine() as store:
        await store.put("k", b"")
        await asyncio.gather(store.close(), store.close())
        await store.close()
