"""How a batch is worked off, told by the jobs that are there; a test says how each job ends."""

from __future__ import annotations

from batches import Batch, BatchSpec, BatchStatus, op

from steersman import Client, Job, ObjectMeta
from steersman.testing import Cluster, virtual_time

NOW = "2026-01-01T00:00:00Z"
ENDS = {True: ("SuccessCriteriaMet", "Complete"), False: ("FailureTarget", "Failed")}


def batch(count: int) -> Batch:
    spec = BatchSpec(image="busybox:1", command=["echo"], items=[f"item-{number}" for number in range(count)])
    return Batch(metadata=ObjectMeta(name="b"), spec=spec)


async def end(client: Client, name: str, *, well: bool = True) -> None:
    """What a job's controller says when its pod has ended."""
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": NOW, "lastTransitionTime": NOW}
        for kind in ENDS[well]
    ]
    status: dict[str, object] = {"startTime": NOW, "conditions": conditions}
    status |= {"succeeded": 1, "completionTime": NOW} if well else {"failed": 1}
    await client.patch(Job, name, {"status": status}, subresource="status")


async def jobs(client: Client) -> list[str]:
    return sorted(job.name for job in await client.list(Job))


async def status(client: Client) -> BatchStatus:
    return (await client.get(Batch, "b")).status


@virtual_time
async def test_so_many_run_at_once_until_all_are_done() -> None:
    async with Cluster(controllers=()) as cluster, cluster.run_operator(op):
        client = cluster.client()
        await client.create(batch(5))
        await cluster.clock.settle()
        assert await jobs(client) == ["b-0", "b-1"]
        for number in range(5):
            found = await status(client)
            assert (found.succeeded, found.running) == (number, min(2, 5 - number))
            await end(client, f"b-{number}")
            await cluster.clock.settle()
        found = await status(client)
        assert (found.waiting, found.running, found.succeeded) == (0, 0, 5)
        assert found.conditions[0].reason == "AllSucceeded"


@virtual_time
async def test_a_failed_item_is_named_and_the_others_go_on() -> None:
    async with Cluster(controllers=()) as cluster, cluster.run_operator(op):
        client = cluster.client()
        await client.create(batch(3))
        await cluster.clock.settle()
        await end(client, "b-0", well=False)
        for name in ("b-1", "b-2"):
            await cluster.clock.settle()
            await end(client, name)
        await cluster.clock.settle()
        found = await status(client)
        assert (found.succeeded, found.failed) == (2, ["item-0"])
        assert found.conditions[0].message == "failed: item-0"


@virtual_time
async def test_a_restart_in_the_middle_repeats_nothing() -> None:
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        first = await cluster.run_operator(op)
        await client.create(batch(3))
        await cluster.clock.settle()
        await first.kill()
        await end(client, "b-0")
        async with cluster.run_operator(op):
            await cluster.clock.advance(1)
            assert await jobs(client) == ["b-0", "b-1", "b-2"]
            assert (await status(client)).succeeded == 1
