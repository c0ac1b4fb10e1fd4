"""An operator whose connection fails in every way there is, in virtual time: in the end all is as it should
be, and until then the API is not hammered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import pytest

from steersman.objects.builders import Deployment
from steersman.testing import Cluster, Faults, eventually, run_virtual, virtual_time
from tests.integration.testing.webapps import WebApp, WebApps, web_app

Breaks = Callable[[Faults], object]


async def wrong(cluster: Cluster) -> str:
    """What is not (yet) as the WebApps want it."""
    client = cluster.client()
    wanted = {app.metadata.name: app.spec.replicas for app in await client.list(WebApp)}
    made = {each.name: each.spec["replicas"] for each in await client.list(Deployment)}
    return "" if wanted == made else f"wanted {wanted}, there is {made}"


async def converge(cluster: Cluster, timeout_s: float) -> None:
    async def right() -> bool:
        return not await wrong(cluster)

    await eventually(right, timeout_s)


async def change(cluster: Cluster, names: Iterable[str]) -> None:
    """Something new, something else, and something broken by hand."""
    client = cluster.client()
    await client.create(web_app("new"))
    for name in names:
        await client.patch(WebApp, name, {"spec": {"replicas": 5}})
    await client.delete(Deployment, "broken")


@asynccontextmanager
async def world(seed: int = 0) -> AsyncIterator[Cluster]:
    """A cluster with some WebApps that are as they should be, and with their operator."""
    async with Cluster(seed=seed) as cluster, cluster.run_operator(WebApps().operator()):
        for name in ("a", "b", "broken"):
            await cluster.client().create(web_app(name))
        # Long enough for the server to be known as one that sends bookmarks.
        await cluster.clock.advance(150)
        assert await wrong(cluster) == ""
        yield cluster


FAULTS: dict[str, tuple[Breaks, float]] = {
    "watches dropped": (lambda faults: faults.drop_watches(), 10),
    "watches ended": (lambda faults: faults.end_watches(), 10),
    "watches expired": (lambda faults: faults.expire_watches(), 10),
    "watches silent": (lambda faults: faults.silence_watches(), 200),
    "dropped, then refused": (
        lambda faults: (faults.refuse(503, times=6), faults.drop_watches()),
        120,
    ),
    "dropped, then unreachable": (
        lambda faults: (faults.lose_requests(times=10), faults.drop_watches()),
        120,
    ),
    "dropped, then too old": (
        lambda faults: (faults.refuse(410, verb="watch", times=3), faults.drop_watches()),
        120,
    ),
    "conflicts": (lambda faults: faults.refuse(409, verb="write", times=20), 300),
    "throttled": (lambda faults: faults.refuse(429, retry_after_s=3, times=12), 120),
    "failing": (lambda faults: faults.refuse(500, verb="write", times=12), 300),
    "slow": (lambda faults: faults.delay((1.0, 20.0), times=12), 300),
    "answers lost": (lambda faults: faults.lose_answers(verb="write", times=6), 120),
    "half closed": (lambda faults: faults.hang(verb="write", times=3), 300),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_all_is_well_soon_and_with_few_requests(fault: str) -> None:
    async def body() -> None:
        breaks, timeout_s = FAULTS[fault]
        async with world() as cluster:
            breaks(cluster.faults)
            with cluster.record() as seen:
                await change(cluster, ("a", "b"))
                await converge(cluster, timeout_s)
                await cluster.clock.advance(60)
            by_operator = [request for request in seen.requests if request.applies or request.verb == "watch"]
            assert len(by_operator) < 40
            cluster.faults.clear()
            await cluster.clock.advance(600)
            with cluster.assert_no_writes():
                await cluster.clock.advance(600)

    run_virtual(body())


@pytest.mark.parametrize("seed", range(5))
def test_an_hour_of_everything_at_once_ends_well(seed: int) -> None:
    async def body() -> None:
        async with world(seed) as cluster:
            faults, client = cluster.faults, cluster.client()
            injected = [
                faults.refuse(409, verb="write", probability=0.2),
                faults.refuse(500, probability=0.1),
                faults.refuse(429, retry_after_s=2, probability=0.1),
                faults.lose_requests(probability=0.1),
                faults.lose_answers(verb="write", probability=0.1),
                faults.hang(probability=0.02),
                faults.delay((0.0, 5.0), probability=0.2),
            ]
            breaks = (faults.drop_watches, faults.expire_watches, faults.silence_watches, faults.end_watches)
            with cluster.record() as seen:
                for minute in range(60):
                    await client.create(web_app(f"app-{minute}"))
                    await client.patch(WebApp, "a", {"spec": {"replicas": minute % 7}})
                    breaks[(minute + seed) % len(breaks)]()
                    await cluster.clock.advance(60)
            assert len(seen.requests) + sum(fault.hits for fault in injected) < 1000
            faults.clear()
            await converge(cluster, 600)

    run_virtual(body())


@virtual_time
async def test_an_operator_killed_at_any_request_leaves_nothing_that_its_successor_cannot_repair() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        for point in range(12):
            operator = await cluster.run_operator(WebApps().operator())
            with cluster.faults.call(operator.kill_nowait, verb="write", skip=point % 4, times=1):
                await client.create(web_app(f"app-{point}"))
                await client.patch(WebApp, "app-0", {"spec": {"replicas": point}})
                await cluster.clock.advance(5)
            await operator.kill()
            async with cluster.run_operator(WebApps().operator()):
                await converge(cluster, 60)
                await cluster.clock.settle()
                with cluster.assert_no_writes():
                    await cluster.clock.advance(60)
        assert len(await client.list(Deployment)) == 12


@virtual_time
async def test_a_reconcile_never_sees_what_is_older_than_its_own_writes() -> None:
    apps = WebApps()
    async with Cluster() as cluster, cluster.run_operator(apps.operator()):
        client = cluster.client()
        with cluster.faults.hold_watches("deployments"), cluster.record() as seen:
            await client.create(web_app("a"))
            await cluster.clock.advance(10)
            for replicas in range(2, 6):
                await client.patch(WebApp, "a", {"spec": {"replicas": replicas}})
                await cluster.clock.advance(10)
        # One apply for each change, none because the watch had not yet told of the last one.
        assert len([request for request in seen.writes if request.applies]) == 5
        assert await wrong(cluster) == ""
        with cluster.assert_no_writes():
            await cluster.clock.advance(60)
