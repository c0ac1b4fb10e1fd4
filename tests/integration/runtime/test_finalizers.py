"""Finalizers: ours comes and goes, others' stay, whatever happens meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.client import Client, Invalid
from steersman.runtime.cache import Cache
from steersman.runtime.cached import Intake
from steersman.runtime.finalizers import add_finalizer, remove_finalizer
from steersman.runtime.writes import Writes
from tests.integration.runtime.embedded import CONFIG_MAPS, config_map, in_cluster

OURS = "example.com/ours"
THEIRS = "example.com/theirs"


def writes_of(client: Client, cache: Cache | None = None, writer: str = "") -> Writes:
    return Writes(client, writer, lambda _: cache)


async def stored(client: Client, name: str = "a") -> list[str] | None:
    found = await client.find(CONFIG_MAPS, name)
    return None if found is None else found["metadata"].get("finalizers", [])


@in_cluster
async def test_it_is_added_once(client: Client) -> None:
    obj = await client.create(config_map("a"))
    obj = await add_finalizer(writes_of(client), CONFIG_MAPS, obj, OURS)
    assert obj is not None
    again = await add_finalizer(writes_of(client), CONFIG_MAPS, obj, OURS)
    assert again is obj, "no request for what is there"
    assert await stored(client) == [OURS]


@in_cluster
async def test_it_is_added_beside_others_that_appeared_meanwhile(client: Client) -> None:
    stale = await client.create(config_map("a"))
    await client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": [THEIRS]}})
    await add_finalizer(writes_of(client), CONFIG_MAPS, stale, OURS)
    assert await stored(client) == [THEIRS, OURS]
    stale["metadata"]["finalizers"] = [THEIRS]
    await add_finalizer(writes_of(client), CONFIG_MAPS, stale, OURS)
    assert await stored(client) == [THEIRS, OURS], "not twice, though the stale object lacks it"


@in_cluster
async def test_only_ours_is_removed_wherever_it_stands_by_now(client: Client) -> None:
    stale = await client.create(config_map("a", finalizers=[THEIRS, OURS]))
    await client.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": ["example.com/new", "x.com/y", OURS]}})
    await remove_finalizer(writes_of(client), CONFIG_MAPS, stale, OURS)
    assert await stored(client) == ["example.com/new", "x.com/y"]
    unchanged = await client.get(CONFIG_MAPS, "a")
    assert await remove_finalizer(writes_of(client), CONFIG_MAPS, unchanged, OURS) is unchanged


@in_cluster
async def test_removing_the_last_one_lets_a_deleted_object_go(client: Client) -> None:
    obj = await client.create(config_map("a", finalizers=[OURS]))
    cache = Cache(Intake(CONFIG_MAPS))
    cache.wrote(obj)
    await client.delete(CONFIG_MAPS, "a")
    assert await remove_finalizer(writes_of(client, cache), CONFIG_MAPS, obj, OURS) is None
    assert await stored(client) is None
    assert cache.get(("default", "a")) is None


@in_cluster
async def test_the_cache_has_the_answer_at_once(client: Client) -> None:
    obj = await client.create(config_map("a"))
    cache = Cache(Intake(CONFIG_MAPS))
    cache.wrote(obj)
    heard: list[Any] = []
    cache.handlers.add(heard.append, "me")
    await add_finalizer(writes_of(client, cache, "me"), CONFIG_MAPS, obj, OURS)
    cached = cache.get(("default", "a"))
    assert cached is not None
    assert cached.metadata()["finalizers"] == [OURS]
    assert heard == [], "it is our own change"


@in_cluster
async def test_nothing_is_added_to_what_is_being_deleted_or_gone(client: Client) -> None:
    await client.create(config_map("a", finalizers=[THEIRS]))
    await client.delete(CONFIG_MAPS, "a")
    deleting = await client.get(CONFIG_MAPS, "a")
    assert await add_finalizer(writes_of(client), CONFIG_MAPS, deleting, OURS) is deleting
    gone = await client.create(config_map("b"))
    await client.delete(CONFIG_MAPS, "b")
    assert await add_finalizer(writes_of(client), CONFIG_MAPS, gone, OURS) is None
    assert await remove_finalizer(writes_of(client), CONFIG_MAPS, gone, OURS) is gone


@in_cluster
async def test_another_object_of_the_same_name_is_left_alone(client: Client) -> None:
    old = await client.create(config_map("a"))
    await client.delete(CONFIG_MAPS, "a")
    await client.create(config_map("a", finalizers=[THEIRS]))
    assert await add_finalizer(writes_of(client), CONFIG_MAPS, old, OURS) is None
    old["metadata"]["finalizers"] = [OURS, THEIRS]
    assert await remove_finalizer(writes_of(client), CONFIG_MAPS, old, OURS) is None
    assert await stored(client) == [THEIRS]


@in_cluster
async def test_a_name_the_api_refuses_is_the_callers_fault(client: Client) -> None:
    obj = await client.create(config_map("a"))
    with pytest.raises(Invalid, match="finalizers"):
        await add_finalizer(writes_of(client), CONFIG_MAPS, obj, "not a name")
