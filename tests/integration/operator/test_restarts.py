"""Timers and daemons of many objects when their operator is restarted: nothing is lost, nothing is a storm."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from steersman.operator import Context, Operator
from steersman.operator.timers import wait_s
from steersman.testing import Cluster, virtual_time
from steersman.testing.manifests import apply_all
from tests.integration.operator.things import Thing, thing

COUNT = 120
EVERY_S = 600
HOUR_S = 3600


@virtual_time
async def test_a_restart_does_not_move_the_times_of_a_timer() -> None:
    times: dict[str, list[float]] = {}
    op = Operator(Thing)

    @op.timer(every=EVERY_S)
    async def tick(ctx: Context[Thing]) -> None:
        times.setdefault(ctx.name, []).append(ctx.clock.monotonic())

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await apply_all(client, [Thing.crd()])
        for number in range(COUNT):
            await client.create(thing(f"thing-{number}"))
        for _ in range(6):
            async with cluster.run_operator(op):
                await cluster.clock.advance(EVERY_S / 2)
    assert len(times) == COUNT
    per_minute = Counter(int(when // 60) for each in times.values() for when in each)
    assert max(per_minute.values()) < COUNT / 4, "spread over ten minutes"
    for each in times.values():
        assert 2 <= len(each) <= 4
        assert all((when - each[0] + 1) % EVERY_S < 2 for when in each)


async def make_things(cluster: Cluster) -> None:
    client = cluster.client()
    await apply_all(client, [Thing.crd()])
    for number in range(COUNT):
        await client.create(thing(f"thing-{number}"))


async def until_nobody_is_due_s(cluster: Cluster) -> float:
    """How long it is to the middle of the longest time between two hourly calls."""
    now = cluster.clock.wall()
    things = await cluster.client().list(Thing)
    due = sorted(wait_s(each.metadata.uid or "", HOUR_S, now) for each in things)
    gap_s, begin_s = max((later - sooner, sooner) for sooner, later in pairwise(due))
    return begin_s + gap_s / 2


class Ticks:
    """An hourly operator, and when it was called for each object."""

    def __init__(self, **options: bool) -> None:
        self.operator = Operator(Thing)
        self.operator.timer(HOUR_S, **options)(self.tick)
        self._times: dict[str, list[float]] = {}

    async def tick(self, ctx: Context[Thing]) -> None:
        self._times.setdefault(ctx.name, []).append(ctx.clock.wall())

    def taken(self) -> dict[str, list[float]]:
        times, self._times = self._times, {}
        return times


@virtual_time
async def test_hours_without_an_operator_are_made_up_for_once_and_without_a_storm() -> None:
    ticks = Ticks()
    async with Cluster(controllers=()) as cluster:
        await make_things(cluster)
        async with cluster.run_operator(ticks.operator):
            await cluster.clock.advance(HOUR_S + 1)
        ticks.taken()
        await cluster.clock.advance(5 * HOUR_S)
        began = cluster.clock.wall()
        async with cluster.run_operator(ticks.operator):
            await cluster.clock.advance(600)
            made_up = ticks.taken()
            assert {len(each) for each in made_up.values()} == {1}
            assert len(made_up) == COUNT
            per_minute = Counter(int((each[0] - began) // 60) for each in made_up.values())
            assert max(per_minute.values()) < COUNT / 2, "not all at once"
            await cluster.clock.advance(2 * HOUR_S)
        assert {len(each) for each in ticks.taken().values()} == {2}, "and on as ever"


@virtual_time
async def test_nothing_is_made_up_for_that_was_not_missed() -> None:
    ticks = Ticks()
    async with Cluster(controllers=()) as cluster:
        await make_things(cluster)
        async with cluster.run_operator(ticks.operator):
            await cluster.clock.advance(2 * HOUR_S)
        ticks.taken()
        for _ in range(6):
            async with cluster.run_operator(ticks.operator):
                await cluster.clock.advance(HOUR_S / 6)
        assert {len(each) for each in ticks.taken().values()} == {1}
        async with cluster.run_operator(ticks.operator):
            await cluster.clock.advance(await until_nobody_is_due_s(cluster))
        with cluster.assert_no_writes():
            async with cluster.run_operator(ticks.operator, install=False):
                await cluster.clock.advance(1)


@virtual_time
async def test_a_call_that_failed_or_was_cut_off_was_missed() -> None:
    op = Operator(Thing)
    calls: list[float] = []

    @op.timer(HOUR_S)
    async def tick(ctx: Context[Thing]) -> None:
        calls.append(ctx.clock.wall())
        if len(calls) == 1:
            await ctx.clock.sleep(1e6)

    async with Cluster(controllers=()) as cluster:
        await apply_all(cluster.client(), [Thing.crd()])
        running = await cluster.run_operator(op)
        await cluster.client().create(thing())
        await cluster.clock.advance(HOUR_S)
        assert len(calls) == 1
        await running.kill()
        async with cluster.run_operator(op):
            await cluster.clock.advance(600)
            assert len(calls) == 2


@pytest.mark.parametrize(("every_s", "options"), [(60, {}), (HOUR_S, {"catch_up": False})])
def test_a_timer_that_does_not_catch_up_writes_nothing_and_waits(
    every_s: float, options: dict[str, bool]
) -> None:
    @virtual_time
    async def run() -> None:
        op = Operator(Thing)
        calls: list[float] = []

        @op.timer(every_s, **options)
        async def tick(ctx: Context[Thing]) -> None:
            calls.append(ctx.clock.wall())

        async with Cluster(controllers=()) as cluster:
            await apply_all(cluster.client(), [Thing.crd()])
            async with cluster.run_operator(op):
                await cluster.client().create(thing())
                with cluster.assert_no_writes():
                    await cluster.clock.advance(2 * every_s)
            before = calls.copy()
            await cluster.clock.advance(3 * every_s)
            async with cluster.run_operator(op):
                await cluster.clock.advance(every_s)
        [after] = [call for call in calls if call not in before]
        assert (after - before[-1] + 1) % every_s < 2, "at its own time"

    run()


@virtual_time
async def test_daemons_of_a_restarted_operator_begin_one_after_the_other() -> None:
    begun: list[float] = []
    op = Operator(Thing)

    @op.daemon
    async def stay(ctx: Context[Thing]) -> None:
        begun.append(ctx.clock.monotonic())
        await ctx.clock.sleep(1e6)

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await apply_all(client, [Thing.crd()])
        for number in range(COUNT):
            await client.create(thing(f"thing-{number}"))
        async with cluster.run_operator(op):
            await cluster.clock.advance(5)
        assert len(begun) == COUNT
        begun.clear()
        async with cluster.run_operator(op):
            await cluster.clock.advance(5)
    assert len(begun) == COUNT
    per_tenth = Counter(int(when * 10) for when in begun)
    assert max(per_tenth.values()) < COUNT / 4
