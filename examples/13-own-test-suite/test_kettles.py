"""A test suite to start from: pure functions, an API server, virtual time, faults, crashes, and silence."""

from __future__ import annotations

import pytest
from kettles import Kettle, KettleSpec, KettleStatus, heated, op

from steersman import Client, ConfigMap, Invalid, ObjectMeta
from steersman.testing import Cluster, eventually, virtual_time
from steersman.testing.plugin import OperatorRunner


def kettle(celsius: int = 25) -> Kettle:
    return Kettle(metadata=ObjectMeta(name="tea"), spec=KettleSpec(celsius=celsius))


async def celsius(client: Client) -> int:
    return (await client.get(Kettle, "tea")).status.celsius


# 1. What is pure needs no cluster.


@pytest.mark.parametrize(
    ("now", "wanted", "after"),
    [(20, 25, (21, 4)), (25, 20, (24, 4)), (24, 25, (25, 0)), (25, 25, (25, 0))],
    ids=["heats", "cools", "arrives", "stays"],
)
def test_a_second(now: int, wanted: int, after: tuple[int, int]) -> None:
    celsius, left = after
    assert heated(now, wanted) == KettleStatus(celsius=celsius, seconds_left=left)


# 2. In real time, with the fixtures of the plugin: does it work at all?


async def test_a_kettle_gets_warm(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    await client.create(kettle(21))

    async def is_warm() -> bool:
        return await celsius(client) == 21

    await eventually(is_warm)


async def test_the_api_refuses_what_cannot_be(client: Client, run_operator: OperatorRunner) -> None:
    await run_operator(op)
    wrong = kettle().to_object()
    wrong["spec"]["celsius"] = 200
    with pytest.raises(Invalid, match="should be less than or equal to 100"):
        await client.create(wrong)


# 3. In virtual time: a minute and a half takes no time, and is always the same.


@virtual_time
async def test_it_takes_a_second_for_every_degree() -> None:
    async with Cluster() as cluster, cluster.run_operator(op):
        client = cluster.client()
        await client.create(kettle(100))
        await cluster.clock.advance(40)
        assert await celsius(client) == 61
        await cluster.clock.advance(60)
        assert await celsius(client) == 100


# 4. An operator that has nothing to do is silent.


@virtual_time
async def test_a_hot_kettle_costs_nothing() -> None:
    async with Cluster() as cluster, cluster.run_operator(op):
        await cluster.client().create(kettle())
        await cluster.clock.advance(10)
        with cluster.assert_no_writes():
            await cluster.clock.advance(24 * 3600)


# 5. What others break is put right.


@virtual_time
async def test_a_label_that_somebody_changes_is_put_right() -> None:
    async with Cluster() as cluster, cluster.run_operator(op):
        client = cluster.client()
        await client.create(kettle())
        await cluster.clock.advance(10)
        await client.patch(ConfigMap, "tea-label", {"data": {"text": "cold"}})
        await cluster.clock.settle()
        assert (await client.get(ConfigMap, "tea-label")).to_object()["data"] == {"text": "25 °C"}


# 6. The network fails in the ways networks do, the same ones for the same seed.


@pytest.mark.parametrize("seed", range(3))
@virtual_time
async def test_it_gets_there_through_bad_weather(seed: int) -> None:
    async with Cluster(seed=seed) as cluster, cluster.run_operator(op):
        faults = cluster.faults
        faults.refuse(503, probability=0.2)
        faults.lose_answers(probability=0.2)
        client = cluster.client()
        await client.create(kettle())
        for _ in range(10):
            await cluster.clock.advance(30)
            faults.drop_watches()
        faults.clear()
        await cluster.clock.advance(600)
        assert await celsius(client) == 25


# 7. A crash at the worst moment: right after the server has stored a write.


@pytest.mark.parametrize("after", range(4))
@virtual_time
async def test_a_crash_after_any_write_is_survived(after: int) -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        first = await cluster.run_operator(op)
        cluster.faults.call(first.kill_nowait, verb="patch", skip=after, times=1)
        await client.create(kettle())
        await cluster.clock.advance(30)
        async with cluster.run_operator(op):
            await cluster.clock.advance(30)
            assert await celsius(client) == 25
