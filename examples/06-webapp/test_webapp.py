"""The WebApp operator: its state machine as a table, its life and its repairs in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from webapp import Phase, WebApp, WebAppSpec, after_acting, before_acting, op

from steersman import Client, Deployment, ObjectMeta, Service
from steersman.testing import Cluster, RunningOperator, eventually, mark_ready, virtual_time

RECONCILING, WAITING, READY, SCALING, DELETING = Phase


@pytest.mark.parametrize(
    ("phase", "deployed", "wanted", "expected"),
    [
        (None, None, 3, RECONCILING),
        (None, 3, 3, RECONCILING),
        (READY, None, 3, RECONCILING),
        (READY, 3, 3, READY),
        (READY, 3, 5, SCALING),
        (READY, 3, 0, SCALING),
        (SCALING, 3, 5, SCALING),
        (WAITING, 3, 5, WAITING),
        (RECONCILING, 3, 3, RECONCILING),
    ],
)
def test_before_acting(phase: Phase | None, deployed: int | None, wanted: int, expected: Phase) -> None:
    assert before_acting(phase, deployed, wanted) is expected


@pytest.mark.parametrize(
    ("phase", "rolled_out", "expected"),
    [
        (RECONCILING, False, WAITING),
        (RECONCILING, True, READY),
        (WAITING, False, WAITING),
        (WAITING, True, READY),
        (READY, False, WAITING),
        (SCALING, False, SCALING),
        (SCALING, True, READY),
    ],
)
def test_after_acting(phase: Phase, rolled_out: bool, expected: Phase) -> None:
    assert after_acting(phase, rolled_out) is expected


def web(replicas: int = 3) -> WebApp:
    return WebApp(metadata=ObjectMeta(name="web"), spec=WebAppSpec(image="nginx:1.25", replicas=replicas))


def in_phase(client: Client, phase: Phase) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        return (await client.get(WebApp, "web")).status.phase is phase

    return asked


async def made_ready(client: Client) -> None:
    await client.create(web())
    await eventually(in_phase(client, WAITING))
    await mark_ready(client, Deployment, "web")
    await eventually(in_phase(client, READY))


@virtual_time
async def test_the_phases_of_a_life() -> None:
    async with Cluster() as cluster, cluster.run_operator(op):
        client = cluster.client()
        seen: list[str] = []
        async with client.watch(WebApp, "default") as events:
            await made_ready(client)
            await client.patch(WebApp, "web", {"spec": {"replicas": 5}})
            await eventually(in_phase(client, SCALING))
            await mark_ready(client, Deployment, "web", ready=4)
            await cluster.clock.settle()
            status = (await client.get(WebApp, "web")).status
            assert (status.phase, status.available_replicas) == (SCALING, 4)
            await mark_ready(client, Deployment, "web")
            await eventually(in_phase(client, READY))
            await client.delete(WebApp, "web")
            async for event in events:
                phase = event.decode().get("status", {}).get("phase", "")
                if [phase] != seen[-1:]:
                    seen.append(phase)
                if event.type == "DELETED":
                    break
        assert seen == ["", RECONCILING, WAITING, READY, SCALING, READY, DELETING]
        assert await client.find(Deployment, "web") is None
        assert await client.find(Service, "web") is None


@virtual_time
async def test_conditions_say_when_they_changed_and_for_which_generation() -> None:
    async with Cluster() as cluster, cluster.run_operator(op):
        client = cluster.client()
        await made_ready(client)
        first = {each.type: each for each in (await client.get(WebApp, "web")).status.conditions}
        assert (first["Ready"].status, first["Progressing"].status) == ("True", "False")
        await cluster.clock.advance(60)
        await client.patch(WebApp, "web", {"spec": {"image": "nginx:1.27"}})
        await eventually(in_phase(client, WAITING))
        await mark_ready(client, Deployment, "web")
        await eventually(in_phase(client, READY))
        second = {each.type: each for each in (await client.get(WebApp, "web")).status.conditions}
        assert second["Ready"].last_transition_time > first["Ready"].last_transition_time
        assert (first["Ready"].observed_generation, second["Ready"].observed_generation) == (1, 2)


@virtual_time
async def test_manual_changes_are_repaired() -> None:
    async with Cluster() as cluster, cluster.run_operator(op):
        client = cluster.client()
        await made_ready(client)
        await client.delete(Deployment, "web")
        await eventually(in_phase(client, WAITING))
        await client.patch(Deployment, "web", {"spec": {"replicas": 50}})
        await client.patch(Service, "web", {"spec": {"selector": {"app": "other"}}})
        await cluster.clock.settle()
        assert (await client.get(Deployment, "web")).spec["replicas"] == 3
        assert (await client.get(Service, "web")).spec["selector"] == {"app": "web"}


@virtual_time
async def test_a_webapp_that_is_ready_causes_no_writes() -> None:
    async with Cluster() as cluster, cluster.run_operator(op):
        await made_ready(cluster.client())
        await cluster.clock.advance(1)
        with cluster.assert_no_writes():
            await cluster.clock.advance(3600)


@virtual_time
async def test_a_standby_takes_over_when_the_leader_dies() -> None:
    async with Cluster() as cluster:
        first = await cluster.run_operator(op)
        await eventually(lambda: leads(first))
        async with cluster.run_operator(op, install=False) as second:
            client = cluster.client()
            await made_ready(client)
            assert not leads(second)
            await first.kill()
            await client.delete(Deployment, "web")
            await eventually(lambda: client.find(Deployment, "web"), timeout_s=20)
            assert leads(second)


def leads(operator: RunningOperator) -> bool:
    return operator.manager is not None and operator.manager.is_leader
