"""Operators that share their objects: members in one process and in virtual time, against a real API server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from steersman.client import Client
from steersman.election import Lease
from steersman.objects.resources import LEASES
from steersman.operator import Action, Context, Operator, OperatorError, Sharding, assemble
from steersman.testing import Cluster, virtual_time
from steersman.testing.manifests import apply_all
from steersman.testing.operators import RunningOperator
from tests.integration.operator.things import Thing, thing

COUNT = 30


class Diary:
    """What all members do, and that no two of them do it to the same object."""

    def __init__(self) -> None:
        self.busy: dict[str, str] = {}
        self.by_member: dict[str, set[str]] = {}
        self.last: dict[str, float] = {}
        self.calls: Counter[str] = Counter()
        self.longest_gap_s = 0.0

    def operator(self, member: str, *, takes_s: float = 0.05) -> Operator[Thing]:
        op = Operator(Thing).with_sharding("things").with_concurrency(50)

        @op.reconcile
        async def reconcile(ctx: Context[Thing]) -> Action:
            now = ctx.clock.monotonic()
            key = f"{ctx.namespace}/{ctx.name}"
            assert key not in self.busy, f"{key}: {self.busy[key]} and {member}"
            self.busy[key] = member
            self.calls[key] += 1
            self.by_member.setdefault(member, set()).add(key)
            self.longest_gap_s = max(self.longest_gap_s, now - self.last.get(key, now))
            self.last[key] = now
            try:
                await ctx.clock.sleep(takes_s)
            finally:
                del self.busy[key]
            return Action.requeue(1.0)

        return op

    def parts(self) -> dict[str, set[str]]:
        parts, self.by_member = self.by_member, {}
        return parts


async def make_things(client: Client, count: int = COUNT) -> None:
    await apply_all(client, [Thing.crd()])
    for number in range(count):
        await client.create(thing(f"thing-{number}"))


def covers_all_once(parts: dict[str, set[str]]) -> bool:
    return sum(map(len, parts.values())) == COUNT == len(set().union(*parts.values()))


async def watched(cluster: Cluster, diary: Diary, seconds: float = 3.0) -> dict[str, set[str]]:
    diary.parts()
    await cluster.clock.advance(seconds)
    return diary.parts()


@virtual_time
async def test_members_share_all_objects_and_take_over_from_those_that_go() -> None:
    diary = Diary()
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        members = {name: await cluster.run_operator(diary.operator(name)) for name in ("a", "b", "c")}
        await make_things(client)
        await cluster.clock.advance(5)
        before = await watched(cluster, diary)
        assert covers_all_once(before)
        assert set(before) == {"a", "b", "c"}

        await members["a"].stop()
        after = await watched(cluster, diary)
        assert covers_all_once(after)
        assert all(before[name] <= after[name] for name in ("b", "c")), "only what was a's has moved"
        assert diary.longest_gap_s < 3, "a member that goes hands over at once"

        await members["b"].kill()
        diary.busy.clear()
        await cluster.clock.advance(10)
        assert await watched(cluster, diary) == {"c": set(diary.calls)}
        assert diary.longest_gap_s < 9

        diary.longest_gap_s = 0.0
        await cluster.run_operator(diary.operator("d"))
        await cluster.clock.advance(3)
        shared = await watched(cluster, diary)
        assert covers_all_once(shared)
        assert set(shared) == {"c", "d"}
        assert diary.longest_gap_s < 3
        leases = await client.list(LEASES, namespace="default")
        assert len(leases) == 2, "of those that are gone nothing is left"


@virtual_time
async def test_work_that_does_not_end_is_cancelled_before_its_object_moves() -> None:
    diary = Diary()
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await cluster.run_operator(diary.operator("slow", takes_s=60))
        await make_things(client)
        await cluster.clock.advance(3)
        await cluster.run_operator(diary.operator("quick"))
        await cluster.clock.advance(6)
        parts = diary.parts()
        assert parts["quick"]
        assert parts["quick"].isdisjoint(diary.busy), "it works on what the other has let go"
        assert set(diary.busy) == parts["slow"] - parts["quick"], "the rest went on undisturbed"


@virtual_time
async def test_a_member_that_cannot_reach_the_api_stops_before_others_begin() -> None:
    diary = Diary()
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        first = await cluster.run_operator(diary.operator("first"))
        await make_things(client)
        await cluster.run_operator(diary.operator("second"))
        await cluster.clock.advance(5)
        first._transport.cut()
        await cluster.clock.advance(12)
        assert set(await watched(cluster, diary)) == {"second"}
        assert diary.longest_gap_s < 9


@virtual_time
async def test_timers_and_daemons_move_with_their_objects() -> None:
    running: dict[str, str] = {}
    ticks: Counter[str] = Counter()

    def operator(member: str) -> Operator[Thing]:
        op = Operator(Thing).with_sharding("things")

        @op.daemon
        async def stay(ctx: Context[Thing]) -> None:
            assert ctx.name not in running, f"{ctx.name}: {running[ctx.name]} and {member}"
            running[ctx.name] = member
            try:
                await ctx.clock.sleep(1e6)
            finally:
                del running[ctx.name]

        @op.timer(every=60)
        async def tick(ctx: Context[Thing]) -> None:
            ticks[ctx.name] += 1

        return op

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        first: RunningOperator = await cluster.run_operator(operator("first"))
        await make_things(client)
        await cluster.clock.advance(5)
        assert set(running.values()) == {"first"}
        await cluster.run_operator(operator("second"))
        await cluster.clock.advance(5)
        assert len(running) == COUNT
        assert set(running.values()) == {"first", "second"}
        ticks.clear()
        await cluster.clock.advance(600)
        assert set(ticks.values()) <= {10, 11}, "once a minute, whoever has them"
        assert len(ticks) == COUNT
        await first.stop()
        await cluster.clock.advance(5)
        assert len(running) == COUNT
        assert set(running.values()) == {"second"}


@virtual_time
async def test_a_namespace_stays_together_if_asked_to() -> None:
    by_namespace: dict[str, set[str]] = {}

    def operator(member: str) -> Operator[Thing]:
        op = Operator(Thing).with_sharding(Sharding("things", unit="namespace"))

        @op.reconcile
        async def reconcile(ctx: Context[Thing]) -> Action:
            by_namespace.setdefault(ctx.namespace, set()).add(member)
            return Action.requeue(1)

        return op

    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await apply_all(client, [Thing.crd()])
        for name in ("a", "b"):
            await cluster.run_operator(operator(name))
        await cluster.clock.advance(3)
        for number in range(8):
            name = f"ns-{number}"
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            for each in range(4):
                await client.create(thing(f"thing-{each}", name))
        await cluster.clock.advance(5)
        assert all(len(members) == 1 for members in by_namespace.values())
        assert set().union(*by_namespace.values()) == {"a", "b"}


@virtual_time
async def test_metrics_tell_members_objects_and_moves() -> None:
    diary = Diary()
    async with Cluster(controllers=()) as cluster:
        await make_things(cluster.client())
        only = await cluster.run_operator(diary.operator("a"))
        await cluster.clock.advance(2)
        assert only.manager is not None
        text = only.manager.metrics.render()[0].decode()
        assert 'steersman_shard_members{name="things"} 1.0' in text
        assert f'steersman_shard_objects{{name="things"}} {COUNT}.0' in text
        assert f'steersman_shard_moves_total{{name="things"}} {COUNT}.0' in text


@pytest.mark.parametrize(
    ("declare", "why"),
    [
        (lambda: [sharded().with_leader_election(Lease("a"))], "choose one"),
        (lambda: [sharded(), Operator(Thing, name="other").with_sharding("b")], "the same sharding"),
    ],
    ids=["and leader election", "two groups"],
)
@virtual_time
async def test_what_does_not_go_together_is_refused(
    declare: Callable[[], list[Operator[Thing]]], why: str
) -> None:
    operators = declare()
    for op in operators:

        @op.reconcile
        async def reconcile(ctx: Context[Thing]) -> None: ...

    async with Cluster(controllers=()) as cluster:
        with pytest.raises(OperatorError, match=why):
            assemble(operators, cluster.client())


def sharded() -> Operator[Thing]:
    return Operator(Thing).with_sharding("a")
