"""Range and count: order, limits, continuation, the past."""

from __future__ import annotations

import pytest

from steersman.cluster.store import Compacted, FutureRevision

KEYS = ["/a/b/1", "/a/b/2", "/a/b/n/1", "/a/b/n/2", "/a/bc/1", "/a/c/1", "/b/b/1", "/a/b", "solo"]


async def fill(store, keys=KEYS):
    for key in reversed(keys):
        await store.put(key, key.encode())


def keys_of(found):
    return [record.key for record in found.records]


@pytest.mark.parametrize(
    "prefix", ["", "/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/n", "/a/b/n/", "s", "/zz/z/", "/a/b/1"]
)
async def test_a_range_is_all_keys_with_the_prefix_sorted(engine, prefix):
    async with engine() as store:
        await fill(store)
        found = store.range(prefix)
        assert keys_of(found) == sorted(key for key in KEYS if key.startswith(prefix))
        assert (found.revision, found.remaining) == (store.revision, 0)
        assert store.count(prefix) == len(found.records)
        contents = store.contents(prefix)
        assert list(contents.values) == [record.value for record in found.records]
        assert contents.size == sum(map(len, contents.values))
        assert contents.revision == store.revision


@pytest.mark.parametrize("prefix", ["/a/b/", "/a/b/n/", "/a/"])
async def test_contents_are_those_of_now(engine, prefix):
    async with engine() as store:
        await fill(store)
        for change in (store.put("/a/b/n/1", b"new"), store.delete("/a/b/n/2"), store.put("/a/b/n/3", b"")):
            before = store.contents(prefix)
            kept = list(before.values)
            await change
            after = store.contents(prefix)
            assert list(after.values) == [record.value for record in store.range(prefix).records]
            assert after.size == sum(map(len, after.values))
            assert after.revision == store.revision == before.revision + 1
            assert list(before.values) == kept


async def test_contents_of_many_prefixes(engine):
    async with engine() as store:
        for number in range(40):
            await store.put(f"/a/b/{number}/x", str(number).encode())
        for number in [*range(40), 3]:
            assert list(store.contents(f"/a/b/{number}/").values) == [str(number).encode()]


@pytest.mark.parametrize("prefix", ["", "/a/b/"])
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_pages_cover_a_range_exactly(engine, prefix, limit):
    async with engine() as store:
        await fill(store)
        whole, pages, after = store.range(prefix), [], ""
        while True:
            page = store.range(prefix, after=after, limit=limit)
            pages += page.records
            assert len(page.records) == min(limit, len(page.records) + page.remaining)
            assert page.remaining == len(whole.records) - len(pages)
            if not page.remaining:
                break
            after = page.records[-1].key
        assert pages == list(whole.records)


@pytest.mark.parametrize("after", ["", "!", "/a/b/1", "/a/b/15", "/a/b/zzz", "/z", "/a/b/"])
@pytest.mark.parametrize("prefix", ["/a/b/", "/a/"])
async def test_after_need_not_be_a_key_of_the_range(engine, prefix, after):
    async with engine() as store:
        await fill(store)
        expected = sorted(key for key in KEYS if key.startswith(prefix) and key > after)
        assert keys_of(store.range(prefix, after=after)) == expected


async def test_a_range_does_not_change_with_the_store(engine):
    async with engine() as store:
        await fill(store)
        found = store.range("/a/b/")
        before = list(found.records)
        await store.put("/a/b/0", b"")
        await store.delete("/a/b/1")
        assert list(found.records) == before
        assert keys_of(store.range("/a/b/"))[:2] == ["/a/b/0", "/a/b/2"]


async def test_many_changes_between_ranges_are_all_seen(engine):
    async with engine() as store:
        alive = {}
        for n in range(300):
            key = f"/a/b/{n * 7 % 300:03}"
            alive[key] = await store.put(key, b"")
            if n % 3 == 0:
                await store.delete(key)
                del alive[key]
            if n % 50 == 0:
                assert list(store.range("/a/b/").records) == [alive[key] for key in sorted(alive)]
        assert list(store.range("/a/b/").records) == [alive[key] for key in sorted(alive)]


async def test_a_range_at_a_revision_shows_the_past(engine):
    async with engine() as store:
        past = {0: []}

        async def remember(write):
            await write
            past[store.revision] = list(store.range("/a/b/").records)

        await remember(store.put("/a/b/1", b"1"))
        await remember(store.put("/a/b/2", b"1"))
        await remember(store.put("/a/c/1", b"1"))
        await remember(store.put("/a/b/1", b"2"))
        await remember(store.delete("/a/b/2"))
        await remember(store.put("/a/b/0", b"1"))
        await remember(store.delete("/a/b/1"))
        await remember(store.put("/a/b/1", b"3"))
        for revision in range(1, store.revision + 1):
            found = store.range("/a/b/", revision=revision)
            assert list(found.records) == past[revision]
            assert (found.revision, found.remaining) == (revision, 0)


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_pages_at_a_revision_are_not_disturbed_by_writes(engine, limit):
    async with engine() as store:
        for n in range(10):
            await store.put(f"/a/b/{n}", b"old")
        whole = list(store.range("/a/b/").records)
        revision, pages, after = store.revision, [], ""
        while True:
            page = store.range("/a/b/", after=after, limit=limit, revision=revision)
            pages += page.records
            assert page.remaining == len(whole) - len(pages)
            if not page.remaining:
                break
            after = page.records[-1].key
            await store.delete(f"/a/b/{9 - len(pages) // limit}")
            await store.put(f"/a/b/{len(pages)}-", b"new")
            await store.put("/a/b/0", b"new")
        assert pages == whole


async def test_a_range_at_a_forgotten_or_future_revision_is_refused(engine):
    async with engine() as store:
        for n in range(5):
            await store.put("k", b"%d" % n)
        await store.compact(3)
        assert keys_of(store.range("", revision=3)) == ["k"]
        assert store.range("", revision=3).records[0].revision == 3
        with pytest.raises(Compacted) as forgotten:
            store.range("", revision=2)
        assert forgotten.value.compacted == 3
        with pytest.raises(FutureRevision) as future:
            store.range("", revision=6)
        assert future.value.current == 5
