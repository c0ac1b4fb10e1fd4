"""Promises about watches, and about lists that come in pieces."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from tests.support.api import ApiClient, Events, config_map

from .keeping import NAMESPACE, Collection, Object, promise

LABEL = "watch-this-configmap"


def _config_maps(client: ApiClient) -> Collection:
    return Collection(client, "v1", "configmaps", NAMESPACE)


def _selected(*values: str) -> str:
    return f"{LABEL} in ({','.join(values)})"


async def _mutate(objects: Collection, name: str, number: int) -> Object:
    return await objects.change(name, lambda obj: {**obj, "data": {"mutation": str(number)}})


async def _relabel(objects: Collection, name: str, value: str) -> Object:
    def change(obj: Object) -> Object:
        obj["metadata"]["labels"][LABEL] = value
        return obj

    return await objects.change(name, change)


async def _sees(events: Events, kind: str, obj: Object | None = None) -> Object:
    event = await events.next()
    assert event["type"] == kind
    if obj is not None:
        assert event["object"] == obj
    found: Object = event["object"]
    return found


@promise("Watchers should observe add, update, and delete watch notifications on configmaps")
async def test_watchers_see_what_their_selector_selects(client: ApiClient) -> None:
    objects = _config_maps(client)
    async with (
        objects.watch(_selected("a")) as watch_a,
        objects.watch(_selected("b")) as watch_b,
        objects.watch(_selected("a", "b")) as watch_ab,
    ):
        made = await objects.create(config_map("configmap-a", {LABEL: "a"}))
        for events in (watch_a, watch_ab):
            await _sees(events, "ADDED", made)
        for number in (1, 2):
            changed = await _mutate(objects, "configmap-a", number)
            for events in (watch_a, watch_ab):
                await _sees(events, "MODIFIED", changed)
        await objects.delete("configmap-a")
        for events in (watch_a, watch_ab):
            await _sees(events, "DELETED")
        made = await objects.create(config_map("configmap-b", {LABEL: "b"}))
        for events in (watch_b, watch_ab):
            await _sees(events, "ADDED", made)
        await objects.delete("configmap-b")
        for events in (watch_b, watch_ab):
            await _sees(events, "DELETED")
        # What came for others in between did not come here.
        made = await objects.create(config_map("configmap-c", {LABEL: "a"}))
        await _sees(watch_a, "ADDED", made)


@promise("Watchers should be able to start watching from a specific resource version")
async def test_a_watch_starts_where_it_is_told(client: ApiClient) -> None:
    objects = _config_maps(client)
    await objects.create(config_map("x", {LABEL: "from"}))
    first, second = await _mutate(objects, "x", 1), await _mutate(objects, "x", 2)
    await objects.delete("x")
    since = first["metadata"]["resourceVersion"]
    async with objects.watch(_selected("from"), resourceVersion=since) as events:
        await _sees(events, "MODIFIED", second)
        await _sees(events, "DELETED")


@promise(
    "Watchers should be able to restart watching from the last resource version observed by the previous watch"
)
async def test_a_watch_goes_on_where_another_ended(client: ApiClient) -> None:
    objects = _config_maps(client)
    async with objects.watch(_selected("restarted")) as events:
        made = await objects.create(config_map("x", {LABEL: "restarted"}))
        await _mutate(objects, "x", 1)
        await _sees(events, "ADDED", made)
        last = await _sees(events, "MODIFIED")
    second = await _mutate(objects, "x", 2)
    since = last["metadata"]["resourceVersion"]
    async with objects.watch(_selected("restarted"), resourceVersion=since) as events:
        await objects.delete("x")
        await _sees(events, "MODIFIED", second)
        await _sees(events, "DELETED")


@promise("Watchers should observe an object deletion if it stops meeting the requirements of the selector")
async def test_an_object_that_is_selected_no_longer_is_gone(client: ApiClient) -> None:
    objects = _config_maps(client)
    async with objects.watch(_selected("right")) as events:
        made = await objects.create(config_map("x", {LABEL: "right"}))
        first = await _mutate(objects, "x", 1)
        await _relabel(objects, "x", "wrong")
        await _sees(events, "ADDED", made)
        await _sees(events, "MODIFIED", first)
        await _sees(events, "DELETED")
        await _mutate(objects, "x", 2)
        restored = await _relabel(objects, "x", "right")
        third = await _mutate(objects, "x", 3)
        await objects.delete("x")
        await _sees(events, "ADDED", restored)
        await _sees(events, "MODIFIED", third)
        await _sees(events, "DELETED")


async def _produce(objects: Collection) -> None:
    """Create, update and delete, over and over."""
    number = 0
    while True:
        name = f"cm-{number % 5}"
        if await objects.gone(name):
            await objects.create(config_map(name, a=str(number)))
        elif number % 3:
            await _mutate(objects, name, number)
        else:
            await objects.delete(name)
        number += 1


@promise("Watchers should receive events on concurrent watches in same order")
async def test_all_watchers_see_the_same_order(client: ApiClient) -> None:
    objects = _config_maps(client)
    since = (await client.ok("GET", objects.path))["metadata"]["resourceVersion"]
    producing = asyncio.create_task(_produce(objects))
    try:
        async with AsyncExitStack() as stack:
            streams: list[Events] = []
            for _ in range(100):
                # Every stream begins behind the event that all the others see next.
                streams.append(await stack.enter_async_context(objects.watch(resourceVersion=since)))
                seen = [(await events.next())["object"]["metadata"]["resourceVersion"] for events in streams]
                assert len(set(seen)) == 1
                since = seen[0]
    finally:
        producing.cancel()
        await asyncio.gather(producing, return_exceptions=True)


TEMPLATES = 400


def _template(number: int) -> Object:
    pod = {"spec": {"containers": [{"name": "test", "image": "test2"}]}}
    return {"metadata": {"name": f"template-{number:04}"}, "template": pod}


async def _fill(client: ApiClient) -> Collection:
    objects = Collection(client, "v1", "podtemplates", NAMESPACE)
    for start in range(0, TEMPLATES, 20):
        await asyncio.gather(*(objects.create(_template(number)) for number in range(start, start + 20)))
    return objects


async def _page(objects: Collection, found: int, limit: int, token: str) -> Object:
    """The next items, which must be the right ones."""
    more = {"continue": token} if token else {}
    page = await objects.client.ok("GET", objects.many(limit=limit, **more))
    names = [item["metadata"]["name"] for item in page["items"]]
    assert names == [f"template-{number:04}" for number in range(found, found + len(names))]
    assert len(names) <= limit
    remaining = page["metadata"].get("remainingItemCount")
    left = TEMPLATES - found - len(names)
    assert remaining == (left if "continue" in page["metadata"] else None)
    assert bool(left) == ("continue" in page["metadata"])
    return page


async def _rest(objects: Collection, found: int, limit: int, token: str = "") -> None:
    """All pages from here, of one revision."""
    versions = set()
    while True:
        page = await _page(objects, found, limit, token)
        versions.add(page["metadata"]["resourceVersion"])
        found += len(page["items"])
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert found == TEMPLATES
    assert len(versions) == 1


@promise("Servers with support for API chunking should return chunks of results for list calls")
async def test_a_list_comes_in_pieces(client: ApiClient) -> None:
    objects = await _fill(client)
    for _ in range(3):
        await _rest(objects, 0, 17)
    assert len(await objects.list(limit=TEMPLATES + 1)) == TEMPLATES


@promise(
    "Servers with support for API chunking should support continue listing from the last key if the original "
    "version has been compacted away, though the list is inconsistent"
)
async def test_a_list_goes_on_after_its_revision_was_compacted(client: ApiClient) -> None:
    objects = await _fill(client)
    limit = TEMPLATES // 10
    first = await _page(objects, 0, limit, "")
    # Something must have happened since, or there is nothing to forget.
    await _config_maps(client).create(config_map("later"))
    await client.cluster.store.compact(client.cluster.store.revision)
    token = first["metadata"]["continue"]
    code, status = await client.ask("GET", objects.many(limit=limit, **{"continue": token}))
    assert (code, status["reason"]) == (410, "Expired")
    token = status["metadata"]["continue"]
    page = await _page(objects, limit, limit, token)
    assert page["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    await _rest(objects, 2 * limit, limit, page["metadata"]["continue"])
