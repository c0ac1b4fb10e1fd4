"""What an operator does not do: write what is there already, or act on what it knows to be old."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.cli.loading import load
from steersman.objects.builders import ConfigMap, Deployment
from steersman.objects.custom import CustomResource, Model, ObjectMeta
from steersman.operator import Action, Context, Operator, Settings
from steersman.testing import Cluster, RunningOperator, mark_ready, virtual_time

WEBAPP = load(str(Path(__file__).parents[3] / "examples" / "06-webapp" / "webapp.py")).module
WebApp: Any = WEBAPP.WebApp
FLEET = 1_000
#: So often that each object comes twice and more while the test looks.
RESYNC_S = 20.0
QUIET = Settings(address=None, resync_s=RESYNC_S)
LOOKING_S = 45.0
STARTING_S = 5.0


def reconciles(operator: RunningOperator) -> float:
    assert operator.manager is not None
    families = operator.manager.metrics.collect()
    [total] = [family for family in families if family.name == "controller_runtime_reconcile"]
    return sum(sample.value for sample in total.samples)


async def launch_fleet(cluster: Cluster) -> None:
    """Have a thousand apps, all of them ready."""
    client = cluster.client()
    for number in range(FLEET):
        spec = {"image": "nginx:1.25", "replicas": 2}
        await client.create(WebApp.from_object({"metadata": {"name": f"web-{number}"}, "spec": spec}))
    await cluster.clock.advance(1)
    for number in range(FLEET):
        await mark_ready(client, Deployment, f"web-{number}")
    await cluster.clock.advance(1)
    phases = [app.status.phase for app in await client.list(WebApp)]
    assert phases == ["Ready"] * FLEET


@pytest.mark.slow
@virtual_time
async def test_a_fleet_that_is_ready_is_resynced_and_restarted_without_a_write() -> None:
    async with Cluster() as cluster:
        operator = await cluster.run_operator(WEBAPP.op, settings=QUIET)
        await launch_fleet(cluster)

        before = reconciles(operator)
        with cluster.assert_no_writes():
            await cluster.clock.advance(LOOKING_S)
        assert reconciles(operator) - before >= 2 * FLEET

        await operator.stop()
        async with cluster.run_operator(WEBAPP.op, settings=QUIET, install=False) as restarted:
            with cluster.assert_no_writes():
                await cluster.clock.advance(STARTING_S)
            assert reconciles(restarted) >= FLEET


class CounterStatus(Model):
    count: int = 0


class Counter(CustomResource, group="quiet.example.com", version="v1"):
    status: CounterStatus = CounterStatus()


class Counting:
    """An operator that counts in its object's status and in a child, and tells what it saw."""

    def __init__(self, until: int) -> None:
        #: Of each reconcile: the count in the status and in the child as the caches have them.
        self.seen: list[tuple[int, int]] = []
        self.reasons: list[tuple[str, ...]] = []
        self._until = until
        self.operator = Operator(Counter).owns(ConfigMap)
        self.operator.reconcile(self.count)

    async def count(self, ctx: Context[Counter]) -> Action:
        child = await ctx.get(ConfigMap, ctx.name)
        old = ctx.resource.status.count
        self.seen.append((old, int(child.value("count") or 0) if child else 0))
        self.reasons.append(ctx.reasons)
        if old == self._until:
            return Action.done()
        await ctx.apply(ConfigMap(ctx.name).data("count", str(old + 1)))
        await ctx.set_status(CounterStatus(count=old + 1))
        return Action.requeue(0.01)


@virtual_time
async def test_a_reconcile_never_sees_an_object_older_than_its_own_last_write() -> None:
    """No event of any write comes through while it counts."""
    counting = Counting(until=20)
    async with Cluster() as cluster, cluster.run_operator(counting.operator):
        await cluster.client().create(Counter(metadata=ObjectMeta(name="one")))
        await cluster.clock.settle()
        with cluster.faults.hold_watches():
            await cluster.clock.advance(10)
            assert counting.seen == [(number, number) for number in range(21)]
        await cluster.clock.advance(10)
        assert len(counting.seen) == 21, f"its own events brought it back: {counting.reasons[21:]}"


@virtual_time
async def test_a_late_watch_neither_confuses_an_operator_nor_brings_back_its_own_writes() -> None:
    counting = Counting(until=20)
    async with Cluster() as cluster, cluster.run_operator(counting.operator):
        with cluster.faults.lag_watches(0.025):
            await cluster.client().create(Counter(metadata=ObjectMeta(name="one")))
            await cluster.clock.advance(10)
        assert counting.seen == [(number, number) for number in range(21)]


@virtual_time
async def test_changes_by_others_come_through_between_own_writes() -> None:
    counting = Counting(until=20)
    async with Cluster() as cluster, cluster.run_operator(counting.operator):
        client = cluster.client()
        await client.create(Counter(metadata=ObjectMeta(name="one")))
        await cluster.clock.advance(10)
        await client.patch(ConfigMap, "one", {"data": {"count": "7"}})
        await cluster.clock.advance(1)
        assert counting.seen[-1] == (20, 7)
