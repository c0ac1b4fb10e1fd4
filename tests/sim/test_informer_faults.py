"""Informers against a model of the API that breaks in every way a real one does, in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.runtime.changes import Change
from steersman.runtime.informer import Informer
from steersman.runtime.informers import Informers
from steersman.runtime.keys import Key
from tests.sim.model_api import CONFIG_MAPS, ModelApi
from tests.sim.virtual_time import VirtualClock, run_virtual

HOUR_S = 3600.0


class World:
    """An API, an informer of its ConfigMaps, and what a handler of it heard."""

    def __init__(self, api: ModelApi, informers: Informers, informer: Informer) -> None:
        self.api = api
        self.informers = informers
        self.informer = informer
        self.heard: list[Change] = []
        informer.add_handler(self.heard.append)

    def news(self) -> list[tuple[str, str]]:
        """(type, name) heard since the last call."""
        news = [(change.type, change.key.name) for change in self.heard]
        self.heard.clear()
        return news

    def is_current(self) -> bool:
        content = {cached.key: cached.object() for cached in self.informer.cache}
        return content == self.api.objects

    async def settle(self, seconds: float = 0.01) -> None:
        await asyncio.sleep(seconds)


@asynccontextmanager
async def world(
    api: ModelApi | None = None, *, resync_s: float = 36_000, **selection: Any
) -> AsyncIterator[World]:
    api = api or ModelApi()
    informers = Informers(api, VirtualClock(), resync_s=resync_s, rand=Random(3).random)
    made = World(api, informers, informers.get(CONFIG_MAPS, **selection))
    async with Scope() as scope:
        scope.start(informers.run())
        yield made


def sim(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Make a test of an async function that runs in virtual time."""

    def run() -> None:
        async def body() -> None:
            await test()

        run_virtual(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@pytest.mark.parametrize("streams", [True, False], ids=["initial events", "lists"])
@pytest.mark.parametrize("count", [0, 1, 1234], ids=["nothing", "one", "pages"])
def test_the_cache_is_filled_and_kept_current(streams: bool, count: int) -> None:
    async def body() -> None:
        api = ModelApi(streams=streams)
        for number in range(count):
            api.put(f"a{number:04}")
        async with world(api) as w:
            assert await w.informers.wait_synced() == []
            assert w.is_current()
            assert all(change.initial and change.type == "added" for change in w.heard)
            assert len(w.news()) == count
            api.put("b")
            api.put("b", k="v")
            api.delete("b")
            await w.settle()
            assert w.news() == [("added", "b"), ("modified", "b"), ("deleted", "b")]
            assert w.is_current()
            assert api.requests["list"] == (0 if streams else max(1, -(-count // 500)))

    run_virtual(body())


FAULTS: dict[str, Callable[[ModelApi], None]] = {
    "dropped": ModelApi.drop_watches,
    "ended": ModelApi.end_watches,
    "silent": ModelApi.freeze_watches,
    "error 410": lambda api: api.send_error(410),
    "error 500": lambda api: api.send_error(500),
    "compacted and dropped": lambda api: (api.compact(), api.drop_watches())[0],
    "events repeated": lambda api: api.repeat_events(3),
    "dropped, then refused with 503": lambda api: (api.refusals.extend([503] * 3), api.drop_watches())[0],
    "dropped, then unreachable": lambda api: (api.refusals.extend([0] * 5), api.drop_watches())[0],
    "dropped, then throttled": lambda api: (api.refusals.extend([429] * 2), api.drop_watches())[0],
}


@pytest.mark.parametrize("streams", [True, False], ids=["initial events", "lists"])
@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_the_cache_is_right_again_and_nothing_is_told_twice(fault: str, streams: bool) -> None:
    async def body() -> None:
        api = ModelApi(streams=streams)
        api.put("gone")
        api.put("changed")
        api.put("same")
        async with world(api) as w:
            await w.informers.wait_synced()
            # Long enough for the server to be known as one that sends bookmarks.
            await w.settle(100)
            w.news()
            before = sum(api.requests.values())
            FAULTS[fault](api)
            api.delete("gone")
            api.put("changed", k="v")
            api.put("new")
            await w.settle(250)
            assert w.is_current()
            assert sorted(w.news()) == [("added", "new"), ("deleted", "gone"), ("modified", "changed")]
            assert sum(api.requests.values()) - before <= 9

    run_virtual(body())


@sim
async def test_a_silent_watch_of_a_server_without_bookmarks_is_noticed_when_it_outlives_itself() -> None:
    api = ModelApi(bookmarks=False)
    async with world(api) as w:
        await w.informers.wait_synced()
        api.freeze_watches()
        api.put("a")
        await w.settle(700)
        assert w.is_current()


@sim
async def test_a_quiet_server_without_bookmarks_is_not_taken_for_dead() -> None:
    api = ModelApi(bookmarks=False)
    async with world(api) as w:
        await w.settle(6 * HOUR_S)
        assert w.informer.stats.failures == 0
        assert api.requests["watch"] <= 6 * 12


@sim
async def test_a_storm_of_410_is_weathered_without_a_storm_of_requests() -> None:
    async with world() as w:
        await w.informers.wait_synced()
        before = sum(w.api.requests.values())
        for _ in range(600):
            w.api.put("a")
            w.api.compact()
            w.api.send_error(410)
            await w.settle(1)
        assert sum(w.api.requests.values()) - before < 40
        await w.settle(90)
        assert w.is_current()


@sim
async def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    async with world() as w:
        for _ in range(6000):
            w.api.end_watches()
            await w.settle(0.1)
        assert sum(w.api.requests.values()) < 40


@sim
async def test_a_server_restored_from_a_backup_is_right() -> None:
    async with world() as w:
        w.api.put("kept")
        w.api.put("changed")
        backup = w.api.backup()
        await w.informers.wait_synced()
        for number in range(50):
            w.api.put("changed", n=str(number))
        w.api.put("lost")
        await w.settle(100)
        w.news()
        w.api.restore(backup)
        await w.settle(120)
        assert w.is_current()
        assert sorted(w.news()) == [("deleted", "lost"), ("modified", "changed")]
        w.api.put("changed", n="new")
        await w.settle()
        assert w.is_current()
        assert w.news() == [("modified", "changed")]


@sim
async def test_a_resource_that_is_not_served_is_taken_up_when_it_comes() -> None:
    api = ModelApi()
    api.refuse_all = 404
    async with world(api) as w:
        started = asyncio.get_running_loop().time()
        assert await w.informers.wait_synced() == ["configmaps.v1"]
        assert asyncio.get_running_loop().time() - started < 1
        assert w.informer.absent
        await w.settle(HOUR_S)
        assert api.requests["stream"] < HOUR_S / 9
        api.refuse_all = None
        api.put("a")
        await w.settle(21)
        assert (w.informer.synced, w.informer.absent) == (True, False)
        assert w.news() == [("added", "a")]


@sim
async def test_when_the_definition_is_deleted_everything_is_gone() -> None:
    async with world() as w:
        w.api.put("a")
        await w.informers.wait_synced()
        w.news()
        w.api.refuse_all = 404
        w.api.end_watches()
        await w.settle(5)
        assert w.news() == [("deleted", "a")]
        assert (len(w.informer.cache), w.informer.absent) == (0, True)
        w.api.refuse_all = None
        await w.settle(21)
        assert w.news() == [("added", "a")]


def test_being_forbidden_is_said_once_and_got_over(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        api = ModelApi()
        api.refuse_all = 403
        async with world(api) as w:
            assert await w.informers.wait_synced(timeout_s=600) == ["configmaps.v1"]
            api.refuse_all = None
            await w.settle(200)
            assert w.informer.synced

    with caplog.at_level(logging.INFO):
        run_virtual(body())
    assert [record.message for record in caplog.records] == [
        "configmaps.v1 cannot be followed, trying again: refused with 403",
        "configmaps.v1 is followed again",
    ]


@sim
async def test_a_reader_never_sees_anything_older_than_its_own_write_though_the_watch_is_late() -> None:
    async with world() as w:
        w.api.put("a", owner="someone")
        await w.informers.wait_synced()
        cache, key = w.informer.cache, Key("x", "a")
        w.news()
        w.api.delayed = True
        w.api.put("a", by="somebody else")
        for number in range(20):
            cache.wrote(w.api.put("a", n=str(number)))
            seen = cache.get(key)
            assert seen is not None
            assert seen.object()["data"] == {"n": str(number)}
        w.api.drop_watches()
        w.api.deliver_delayed()
        await w.settle(30)
        assert w.is_current()
        # One for what somebody else did; nothing for our twenty.
        assert w.news() == [("modified", "a")]


@sim
async def test_a_day_of_nothing_special() -> None:
    async with world() as w:
        for number in range(20):
            w.api.put(f"a{number}")
        await w.informers.wait_synced()
        w.news()
        for hour in range(24):
            w.api.put("a0", hour=str(hour))
            await w.settle(HOUR_S)
        assert w.is_current()
        resyncs = sum(change.resync for change in w.heard)
        assert resyncs == 2 * 20
        assert len(w.heard) == resyncs + 24
        stats = w.informer.stats
        # A watch each five to ten minutes, and everything fetched only once.
        assert 24 * 6 <= stats.watches <= 24 * 12 + 1
        assert w.api.requests["stream"] == 1
        assert (stats.relists, stats.failures) == (0, 0)
        assert len(w.api.watchers) == 1


@sim
async def test_a_day_of_troubles() -> None:
    chance = Random(11)
    faults = list(FAULTS.values())
    async with world() as w:
        names = [f"a{number}" for number in range(10)]
        replica: dict[str, str] = {}

        def follow(change: Change) -> None:
            if change.new is None:
                del replica[change.key.name]
            else:
                replica[change.key.name] = change.new.version

        w.informer.add_handler(follow)
        for _ in range(24 * 12):
            for name in chance.sample(names, 3):
                if Key("x", name) in w.api.objects and chance.random() < 0.3:
                    w.api.delete(name)
                else:
                    w.api.put(name)
                await w.settle(chance.random() * 10)
            chance.choice(faults)(w.api)
            await w.settle(280)
            assert w.is_current()
        assert replica == {key.name: obj["metadata"]["resourceVersion"] for key, obj in w.api.objects.items()}
        assert sum(w.api.requests.values()) < 24 * 12 * 9


@sim
async def test_late_handlers_are_told_what_is_there() -> None:
    async with world() as w:
        w.api.put("a")
        w.api.put("b")
        await w.informers.wait_synced()
        late: list[Change] = []
        w.informer.add_handler(late.append)
        assert [(change.type, change.key.name, change.initial) for change in late] == [
            ("added", "a", True),
            ("added", "b", True),
        ]
        w.informer.remove_handler(late.append)
        w.api.put("c")
        await w.settle()
        assert len(late) == 2


@sim
async def test_resyncs_can_be_turned_off() -> None:
    async with world(resync_s=0) as w:
        w.api.put("a")
        await w.settle(48 * HOUR_S)
        assert not any(change.resync for change in w.heard)


# --- namespaces and sets


@sim
async def test_several_namespaces_are_watched_one_by_one_behind_one_cache() -> None:
    async with world(namespace=("x", "y")) as w:
        for namespace in ("x", "y", "z"):
            w.api.put("a", namespace)
        await w.informers.wait_synced()
        assert w.informer.cache.keys() == [Key("x", "a"), Key("y", "a")]
        w.api.send_error(410)
        w.api.delete("a", "y")
        await w.settle(5)
        assert w.informer.cache.keys() == [Key("x", "a")]
        assert len(w.api.watchers) == 2
        assert str(w.informer) == "configmaps.v1 (x,y)"


@sim
async def test_namespaces_come_and_go_while_it_runs() -> None:
    async with world(namespace=("x", "y")) as w:
        for namespace in ("x", "y", "z"):
            w.api.put(namespace, namespace)
        await w.informers.wait_synced()
        w.news()
        w.informer.watch_namespaces(["y", "z"])
        assert not w.informer.synced
        w.api.put("late", "x")
        await w.informer.wait_synced()
        assert sorted(w.news()) == [("added", "z"), ("deleted", "x")]
        w.api.put("z2", "z")
        w.api.put("x2", "x")
        await w.settle()
        assert w.news() == [("added", "z2")]
        assert sorted(watcher.namespace or "" for watcher in w.api.watchers) == ["y", "z"]


@sim
async def test_an_informer_of_all_namespaces_cannot_be_given_some() -> None:
    async with world() as w:
        with pytest.raises(ValueError, match="all namespaces"):
            w.informer.watch_namespaces(["x"])


@sim
async def test_informers_are_shared_added_and_removed_while_the_set_runs() -> None:
    async with world() as w:
        await w.informers.wait_synced()
        assert w.informers.get(CONFIG_MAPS) is w.informer
        other = w.informers.get(CONFIG_MAPS, namespace="y")
        assert other is w.informers.get(CONFIG_MAPS, namespace=["y"])
        assert other is not w.informer
        assert await w.informers.wait_synced() == []
        assert len(w.api.watchers) == 2
        await w.informers.remove(other)
        assert [watcher.namespace for watcher in w.api.watchers] == [None]
        assert list(w.informers) == [w.informer]


@sim
async def test_when_the_set_ends_nothing_is_left_and_it_can_run_again() -> None:
    api = ModelApi()
    informers = Informers(api, VirtualClock(), rand=Random(3).random)
    informer = informers.get(CONFIG_MAPS)
    heard: list[Change] = []
    informer.add_handler(heard.append)
    for number in range(2):
        api.put(f"a{number}")
        async with Scope() as scope:
            scope.start(informers.run())
            await asyncio.sleep(1)
            assert len(api.watchers) == 1
        assert len(api.watchers) == 0
        assert len(asyncio.all_tasks()) == 1
    assert [(change.key.name, change.initial) for change in heard] == [("a0", True), ("a1", False)]


@sim
async def test_a_set_runs_once() -> None:
    async with world() as w:
        await w.settle()
        with pytest.raises(RuntimeError, match="already"):
            await w.informers.run()
        with pytest.raises(RuntimeError, match="already"):
            await w.informer.run()
