"""Watches: order, filters, resumption, initial state, bookmarks, ends."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from tests.support.api import ApiClient, Events, config_map, with_api

MAPS = "/api/v1/namespaces/default/configmaps"


async def revision(client: ApiClient) -> str:
    return str((await client.ok("GET", MAPS))["metadata"]["resourceVersion"])


@with_api
async def test_every_change_is_seen_in_order(client: ApiClient) -> None:
    since = await revision(client)
    async with client.watch(f"{MAPS}?watch=1&resourceVersion={since}") as events:
        await client.ok("POST", MAPS, config_map("a"))
        await client.ok("PUT", f"{MAPS}/a", config_map("a", k="v"))
        await client.ok("DELETE", f"{MAPS}/a")
        assert await events.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


@with_api
async def test_a_deleted_object_shows_its_last_state_at_the_deletions_revision(client: ApiClient) -> None:
    created = await client.ok("POST", MAPS, config_map("a", k="v"))
    async with client.watch(f"{MAPS}?watch=1&resourceVersion={await revision(client)}") as events:
        await client.ok("DELETE", f"{MAPS}/a")
        deleted = (await events.next())["object"]
    assert deleted["data"] == {"k": "v"}
    assert int(deleted["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])


@with_api
async def test_leaving_the_selector_is_a_deletion_and_entering_it_an_addition(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a", {"p": "1"}))
    since = await revision(client)
    async with client.watch(f"{MAPS}?watch=1&resourceVersion={since}&labelSelector=p%3D1") as events:
        await client.patch(f"{MAPS}/a", {"metadata": {"labels": {"p": "2"}}})
        left = await events.next()
        await client.ok("POST", MAPS, config_map("unseen", {"p": "3"}))
        await client.patch(f"{MAPS}/a", {"metadata": {"labels": {"p": "1"}}})
        entered = await events.next()
    assert (left["type"], left["object"]["metadata"]["labels"]) == ("DELETED", {"p": "1"})
    assert (entered["type"], entered["object"]["metadata"]["labels"]) == ("ADDED", {"p": "1"})
    assert int(left["object"]["metadata"]["resourceVersion"]) > int(since)


@with_api
async def test_a_watch_resumes_where_it_stopped(client: ApiClient) -> None:
    first = await client.ok("POST", MAPS, config_map("a"))
    for name in "bcd":
        await client.ok("POST", MAPS, config_map(name))
    since = first["metadata"]["resourceVersion"]
    async with client.watch(f"{MAPS}?watch=1&resourceVersion={since}") as events:
        assert await events.take(3) == [("ADDED", "b"), ("ADDED", "c"), ("ADDED", "d")]


@with_api
async def test_without_a_revision_the_state_comes_first_then_what_happens(client: ApiClient) -> None:
    for name in "ba":
        await client.ok("POST", MAPS, config_map(name))
    async with client.watch(f"{MAPS}?watch=1") as events:
        assert await events.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        await client.ok("POST", MAPS, config_map("c"))
        assert await events.take(1) == [("ADDED", "c")]


@with_api
async def test_watch_list_ends_the_initial_events_with_a_marked_bookmark(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a"))
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with client.watch(f"{MAPS}?{query}") as events:
        assert (await events.take(1)) == [("ADDED", "a")]
        bookmark = await events.next()
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"] == {
        "resourceVersion": await revision(client),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


@with_api
async def test_a_forgotten_revision_is_told_as_an_error_event(client: ApiClient) -> None:
    since = await revision(client)
    for name in "abc":
        await client.ok("POST", MAPS, config_map(name))
    await client.cluster.store.compact(client.cluster.store.revision)
    async with client.watch(f"{MAPS}?watch=1&resourceVersion={since}") as events:
        (error,) = await events.rest()
    assert error["type"] == "ERROR"
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")
    assert error["object"]["message"].startswith(f"too old resource version: {since} (")


@with_api
async def test_a_watch_ends_after_its_time(client: ApiClient) -> None:
    async with client.watch(f"{MAPS}?watch=1&timeoutSeconds=1") as events:
        assert await events.rest() == []


@with_api
async def test_one_object_is_watched_by_its_name(client: ApiClient) -> None:
    since = await revision(client)
    query = f"watch=1&resourceVersion={since}&fieldSelector=metadata.name%3Db"
    async with client.watch(f"{MAPS}?{query}") as events:
        await client.ok("POST", MAPS, config_map("a"))
        await client.ok("POST", MAPS, config_map("b"))
        assert await events.take(1) == [("ADDED", "b")]


@with_api
async def test_a_watch_that_contradicts_its_path_or_asks_for_yaml_is_refused(client: ApiClient) -> None:
    old = "/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name%3Db"
    code, body = await client.ask("GET", old)
    assert (code, body["message"]) == (400, "fieldSelector metadata.name doesn't match requested name")
    answer = await client.raw("GET", f"{MAPS}?watch=1", headers={"accept": "application/yaml"})
    assert answer.status == 406
    assert b"accepted: application/json;stream=watch" in answer.content


@with_api
async def test_tables_can_be_watched(client: ApiClient) -> None:
    async with client.http.stream(
        "GET", f"{MAPS}?watch=1", headers=[(b"accept", b"application/json;as=Table;v=v1;g=meta.k8s.io")]
    ) as response:
        await client.ok("POST", MAPS, config_map("a", k="v"))
        event = await Events(response.lines()).next()
    assert event["object"]["kind"] == "Table"
    assert event["object"]["rows"][0]["cells"][:2] == ["a", 1]


@with_api
async def test_many_watchers_see_the_same_bytes(client: ApiClient) -> None:
    since = await revision(client)
    async with AsyncExitStack() as stack:
        path = f"{MAPS}?watch=1&resourceVersion={since}"
        watches = [await stack.enter_async_context(client.watch(path)) for _ in range(50)]
        for name in "abc":
            await client.ok("POST", MAPS, config_map(name))
        seen = [[await events.next() for _ in range(3)] for events in watches]
    assert all(each == seen[0] for each in seen)
    assert [event["object"]["metadata"]["name"] for event in seen[0]] == ["a", "b", "c"]


@with_api
async def test_state_larger_than_any_buffer_arrives_whole(client: ApiClient) -> None:
    for number in range(40):
        await client.ok("POST", MAPS, config_map(f"big-{number:02}", k="x" * 100_000))
    async with client.watch(f"{MAPS}?watch=1") as events:
        names = [name for _, name in await events.take(40)]
        await client.ok("POST", MAPS, config_map("after"))
        assert await events.take(1) == [("ADDED", "after")]
    assert names == sorted(names)


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WATCH_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@with_api
async def test_a_bookmark_is_an_object_nobody_has_set_anything_in(client: ApiClient) -> None:
    async with client.watch(f"/api/v1/namespaces/default/pods?{WATCH_LIST}") as events:
        bookmark = (await events.next())["object"]
    assert (bookmark["spec"], bookmark["status"]) == ({"containers": None}, {})


@with_api
async def test_only_the_first_table_of_a_watch_has_its_columns(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a"))
    path = f"{MAPS}?{WATCH_LIST}&includeObject=None"
    async with client.http.stream("GET", path, headers=[(b"accept", TABLE.encode())]) as response:
        events = Events(response.lines())
        shown = [(await events.next())["object"] for _ in range(2)]
        await client.ok("POST", MAPS, config_map("b"))
        shown.append((await events.next())["object"])
    assert [bool(table["columnDefinitions"]) for table in shown] == [True, False, False]
    assert [table["rows"][0]["cells"][0] for table in shown] == ["a", "", "b"]
    # The end of the initial events can be told from metadata only.
    assert [table["rows"][0]["object"] is None for table in shown] == [True, False, True]


@pytest.mark.parametrize(
    ("path", "form", "code", "message"),
    [
        (
            f"{MAPS}?includeObject=Foo",
            "Table",
            400,
            "Unable to convert to Table as requested: includeObject: ",
        ),
        (
            f"{MAPS}?watch=1&includeObject=Foo",
            "Table",
            400,
            "Unable to convert to Table as requested: include",
        ),
        (
            MAPS,
            "PartialObjectMetadata",
            406,
            "you requested PartialObjectMetadata, but the requested object is",
        ),
        (
            "/api/v1/namespaces/default",
            "PartialObjectMetadataList",
            406,
            "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)",
        ),
    ],
)
def test_forms_that_do_not_fit(path: str, form: str, code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
        answered, status = await client.ask("GET", path, headers={"accept": accept})
        assert (answered, status["message"][: len(message)]) == (code, message)

    check()
