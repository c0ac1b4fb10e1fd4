"""Watch: backlog and live events without gap or duplicate, prefixes, failing sinks."""

from __future__ import annotations

import asyncio

import pytest

from steersman.cluster.store import Compacted, Event, FutureRevision


async def test_a_watcher_gets_what_happens_in_order(engine):
    async with engine() as store:
        events = []
        store.watch("/a/b/", 0, events.extend)
        first = await store.put("/a/b/1", b"1")
        second = await store.put("/a/b/1", b"2")
        deleted = await store.delete("/a/b/1")
        assert events == [
            Event("/a/b/1", 1, b"1", None),
            Event("/a/b/1", 2, b"2", first),
            deleted,
        ]
        assert deleted == Event("/a/b/1", 3, b"2", second, True)


async def test_a_sink_has_been_called_when_the_write_is_acknowledged(engine):
    async with engine() as store:
        revisions = []
        store.watch("", 0, lambda events: revisions.extend(event.revision for event in events))

        async def write(n):
            record = await store.put(f"/a/b/{n}", b"")
            assert record.revision in revisions
            assert store.revision >= record.revision

        await asyncio.gather(*(write(n) for n in range(50)))
        assert revisions == list(range(1, 51))


async def test_the_backlog_comes_in_one_call_before_watch_returns(engine):
    async with engine() as store:
        for n in range(6):
            await store.put(f"/a/b/{n % 2}", b"")
        calls = []
        store.watch("/a/b/", 2, calls.append)
        assert [[event.revision for event in call] for call in calls] == [[3, 4, 5, 6]]
        nothing = []
        store.watch("/a/b/", 6, nothing.append)
        store.watch("/other/", 0, nothing.append)
        assert nothing == []


@pytest.mark.parametrize(
    "prefix", ["", "/", "/a", "/a/b", "/a/b/", "/a/b/x", "/a/b/x/", "/a/b/x/1", "/b/b/", "q"]
)
async def test_a_watcher_sees_its_prefix_only(engine, prefix):
    keys = ["/a/b/x/1", "/a/b/x", "/a/b/y", "/a/bb/x", "/a/b", "/b/b/x", "q"]
    async with engine() as store:
        await asyncio.gather(*(store.put(key, b"") for key in keys))
        live_and_backlog, live = [], []
        store.watch(prefix, 0, live_and_backlog.extend)
        store.watch(prefix, store.revision, live.extend)
        await asyncio.gather(*(store.put(key, b"") for key in keys))
        mine = [key for key in keys if key.startswith(prefix)]
        assert [event.key for event in live_and_backlog] == mine * 2
        assert [event.key for event in live] == mine


async def test_watchers_that_come_under_load_miss_nothing_and_see_nothing_twice(engine):
    async with engine() as store:
        seen = {}

        async def write(writer):
            for n in range(30):
                await store.put(f"/a/b/{writer}", b"%d" % n)
                revisions = seen.setdefault((writer, n), [store.revision])
                store.watch(
                    "/a/b/", revisions[0], lambda events, to=revisions: to.extend(e.revision for e in events)
                )

        await asyncio.gather(*(write(n) for n in range(6)))
        assert store.revision == 180
        for revisions in seen.values():
            assert revisions == list(range(revisions[0], 181))


async def test_a_sink_may_watch_and_cancel(engine):
    async with engine() as store:
        late, cancelled = [], []

        def once(events):
            own.cancel()
            other.cancel()
            store.watch("", 0, late.extend)
            store.watch("/z/z/", 0, late.extend)

        own = store.watch("/a/b/", 0, once)
        other = store.watch("", 0, cancelled.extend)
        await asyncio.gather(store.put("/a/b/1", b""), store.put("/z/z/1", b""))
        await store.put("/a/b/2", b"")
        assert cancelled == []
        assert sorted(event.revision for event in late) == [1, 2, 2, 3]


async def test_no_call_comes_after_cancel(engine):
    async with engine() as store:
        events = []
        subscription = store.watch("", 0, events.extend)
        await store.put("k", b"1")
        subscription.cancel()
        subscription.cancel()
        await store.put("k", b"2")
        assert [event.revision for event in events] == [1]


async def test_a_failing_sink_ends_its_own_watch_only(engine, caplog):
    async with engine() as store:
        calls, events = [], []

        def failing(batch):
            calls.append(batch)
            raise RuntimeError("broken sink")

        store.watch("", 0, failing)
        store.watch("", 0, events.extend)
        assert (await store.put("k", b"1")).revision == 1
        await store.put("k", b"2")
        assert len(calls) == 1
        assert [event.revision for event in events] == [1, 2]
        assert "broken sink" in caplog.text


async def test_watching_a_forgotten_or_future_revision_is_refused(engine):
    async with engine() as store:
        for n in range(5):
            await store.put("k", b"%d" % n)
        await store.compact(3)
        events = []
        store.watch("", 3, events.extend)
        assert [event.revision for event in events] == [4, 5]
        with pytest.raises(Compacted):
            store.watch("", 2, events.extend)
        with pytest.raises(FutureRevision):
            store.watch("", 6, events.extend)
        assert len(events) == 2
