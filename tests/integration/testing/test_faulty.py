"""Each fault as a client meets it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from steersman.client import Client, Conflict, Expired, TooManyRequests, Unreachable, WatchEvent
from steersman.objects.builders import ConfigMap
from steersman.testing import Cluster, Faults, eventually, run_virtual

Body = Callable[[Cluster, Faults, Client], Awaitable[None]]


def with_faults(test: Body) -> Callable[[], None]:
    """A test with a cluster, its faults and a client that suffers them, in virtual time."""

    def run() -> None:
        async def main() -> None:
            async with Cluster() as cluster:
                await test(cluster, cluster.faults, cluster.client(faulty=True))

        run_virtual(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def now() -> float:
    return asyncio.get_running_loop().time()


@with_faults
async def test_refused(cluster: Cluster, faults: Faults, client: Client) -> None:
    faults.refuse(409, verb="create", times=1)
    with cluster.record() as seen, pytest.raises(Conflict, match="injected: Conflict"):
        await client.create(ConfigMap("a"))
    assert seen.requests == []
    await client.create(ConfigMap("a"))


@with_faults
async def test_refused_until_later(cluster: Cluster, faults: Faults, client: Client) -> None:
    fault = faults.refuse(429, retry_after_s=5, times=3)
    started = now()
    await client.list(ConfigMap)
    assert now() - started == pytest.approx(15)
    assert fault.hits == 3
    faults.refuse(429, retry_after_s=1)
    with pytest.raises(TooManyRequests):
        await client.create(ConfigMap("a"))


@with_faults
async def test_a_refused_watch(cluster: Cluster, faults: Faults, client: Client) -> None:
    faults.refuse(410, verb="watch")
    with pytest.raises(Expired):
        async with client.watch(ConfigMap):
            pass


@with_faults
async def test_late(cluster: Cluster, faults: Faults, client: Client) -> None:
    faults.delay(20)
    started = now()
    await client.create(ConfigMap("a"))
    assert now() - started == pytest.approx(20)


@with_faults
async def test_too_late(cluster: Cluster, faults: Faults, client: Client) -> None:
    faults.delay(100)
    started = now()
    with pytest.raises(Unreachable) as caught:
        await client.create(ConfigMap("a"))
    assert now() - started == pytest.approx(60)
    assert caught.value.maybe_done
    assert await cluster.client().find(ConfigMap, "a") is not None


@with_faults
async def test_not_sent(cluster: Cluster, faults: Faults, client: Client) -> None:
    faults.lose_requests(verb="write")
    with pytest.raises(Unreachable) as caught:
        await client.create(ConfigMap("a"))
    assert not caught.value.maybe_done
    assert await client.find(ConfigMap, "a") is None


@with_faults
async def test_done_but_not_answered(cluster: Cluster, faults: Faults, client: Client) -> None:
    faults.lose_answers(verb="write")
    with pytest.raises(Unreachable) as caught:
        await client.create(ConfigMap("a"))
    assert caught.value.maybe_done
    assert await client.find(ConfigMap, "a") is not None


@with_faults
async def test_done_and_silent(cluster: Cluster, faults: Faults, client: Client) -> None:
    faults.hang(verb="write")
    started = now()
    with pytest.raises(Unreachable) as caught:
        await client.request(
            "POST", "/api/v1/namespaces/default/configmaps", body=ConfigMap("a").to_object(), timeout_s=7
        )
    assert now() - started == pytest.approx(7)
    assert caught.value.maybe_done
    assert await client.find(ConfigMap, "a") is not None


class Watched:
    """The events of a watch as they come, and how it ended."""

    def __init__(self) -> None:
        self.events: list[tuple[float, WatchEvent]] = []
        self.end: object = None

    def names(self) -> list[str]:
        decoded = [event.decode() for _, event in self.events if event.type != "BOOKMARK"]
        return [obj["metadata"].get("name", obj.get("reason")) for obj in decoded]

    async def follow(self, client: Client, read_timeout_s: float | None = None) -> None:
        try:
            async with client.watch(
                ConfigMap, "default", timeout_s=600, read_timeout_s=read_timeout_s
            ) as events:
                async for event in events:
                    self.events.append((now(), event))
            self.end = "ended"
        except Unreachable as error:
            self.end = str(error)


def with_watch(
    test: Callable[[Cluster, Faults, Watched], Awaitable[None]], read_timeout_s: float | None = None
) -> Callable[[], None]:
    @with_faults
    async def run(cluster: Cluster, faults: Faults, client: Client) -> None:
        watched = Watched()
        async with asyncio.TaskGroup() as group:
            following = group.create_task(watched.follow(client, read_timeout_s))
            await cluster.client().create(ConfigMap("a"))
            await eventually(lambda: "a" in watched.names())
            await test(cluster, faults, watched)
            following.cancel()

    run.__name__ = test.__name__
    return run


@with_watch
async def test_a_dropped_watch(cluster: Cluster, faults: Faults, watched: Watched) -> None:
    assert faults.drop_watches("pods") == 0
    assert faults.drop_watches(ConfigMap) == 1
    await cluster.clock.settle()
    assert watched.end == "injected: connection reset"
    assert faults.drop_watches() == 0


@with_watch
async def test_an_ended_watch(cluster: Cluster, faults: Faults, watched: Watched) -> None:
    faults.end_watches()
    await cluster.clock.settle()
    assert watched.end == "ended"


@with_watch
async def test_an_expired_watch(cluster: Cluster, faults: Faults, watched: Watched) -> None:
    faults.expire_watches()
    await cluster.clock.settle()
    assert watched.names() == ["a", "Expired"]


@with_watch
async def test_a_silent_watch_does_not_even_end(cluster: Cluster, faults: Faults, watched: Watched) -> None:
    faults.silence_watches()
    await cluster.client().create(ConfigMap("b"))
    await cluster.clock.advance(1000)
    assert watched.names() == ["a"]
    assert watched.end is None


def test_a_reader_with_a_limit_gives_up_on_a_silent_watch() -> None:
    async def body(cluster: Cluster, faults: Faults, watched: Watched) -> None:
        faults.silence_watches()
        await cluster.clock.advance(71)
        assert watched.end == "the server sent nothing for 70 s"

    with_watch(body, read_timeout_s=70)()


@with_watch
async def test_held_events_come_later_and_all(cluster: Cluster, faults: Faults, watched: Watched) -> None:
    client = cluster.client()
    with faults.hold_watches(ConfigMap):
        await client.create(ConfigMap("b"))
        await client.create(ConfigMap("c"))
        await cluster.clock.advance(100)
        assert watched.names() == ["a"]
    await cluster.clock.settle()
    assert watched.names() == ["a", "b", "c"]


@with_watch
async def test_events_lag_each_by_as_much(cluster: Cluster, faults: Faults, watched: Watched) -> None:
    client = cluster.client()
    with faults.lag_watches(10, ConfigMap):
        started = now()
        await client.create(ConfigMap("b"))
        await cluster.clock.advance(5)
        await client.create(ConfigMap("c"))
        await cluster.clock.advance(12)
    lags = [came - started for came, event in watched.events if event.type != "BOOKMARK"][1:]
    assert watched.names() == ["a", "b", "c"]
    assert lags == [pytest.approx(10), pytest.approx(15)]


@with_watch
async def test_a_server_that_ends_a_watch_ends_it(cluster: Cluster, faults: Faults, watched: Watched) -> None:
    await cluster.clock.advance(700)
    assert watched.end == "ended"
