"""Timers and daemons of many objects when their operator is restarted: nothing is lost, nothing is a storm."""

from __future__ import annotations

from collections import Counter

from steersman.operator import Context, Operator
from steersman.testing import Cluster, virtual_time
from steersman.testing.manifests import apply_all
from tests.integration.operator.things import Thing, thing

COUNT = 120
EVERY_S = 600


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
