"""The life of a tenant: what people may have it do, what it looks after, what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.highlander.errors import ConfigError, NotLeader
from steersman.objects.resources import CONFIG_MAPS, DEPLOYMENTS, PODS, SERVICES
from steersman.testing import eventually, virtual_time
from tests.integration.highlander.worlds import Controller, config, process, world

BEAT = "process/default/beat"
WEB: dict[str, Any] = {"name": "web", "image": "image", "ports": [{"containerPort": 80}]}


def simulated(**what: str) -> dict[str, str]:
    return {f"simulated.steersman.dev/{name.replace('_', '-')}": value for name, value in what.items()}


def restarts(controller: Controller) -> int:
    return controller.tenant.board.workloads[BEAT].restarts


@virtual_time
async def test_a_pause_outlives_its_leader() -> None:
    async with world() as here:
        first = here.start(config())
        await here.running(first)
        await first.tenant.pause(BEAT)
        await eventually(lambda: first.phase() == "paused", 30)
        assert await here.pod() is None
        await first.die()
        second = here.start(config("b"))
        await eventually(lambda: second.leads and second.phase() == "paused", 30)
        await here.pass_time(60)
        assert await here.pod() is None
        await second.tenant.resume(BEAT)
        await here.running(second)
        await second.stop()


@virtual_time
async def test_a_restart_makes_another_pod() -> None:
    async with world() as here:
        controller = here.start(config())
        await here.running(controller)
        before = await here.pod()
        assert before is not None
        await controller.tenant.restart(BEAT)

        async def is_another() -> bool:
            now = await here.pod()
            return now is not None and now["metadata"]["uid"] != before["metadata"]["uid"]

        await eventually(is_another, 30)
        await here.running(controller)
        await controller.stop()


@virtual_time
async def test_a_process_that_fails_is_started_again_until_it_is_given_up() -> None:
    async with world() as here:
        fails = process(annotations=simulated(run_time="1s", exit_code="3"), maxRestarts=2)
        controller = here.start(config(workloads={"processes": [fails, process("other")]}))
        await eventually(lambda: controller.phase() == "failed", 120)
        assert controller.tenant.board.workloads[BEAT].last_error == "beat: Error, exit code 3"
        assert restarts(controller) == 3
        await here.running(controller, "process/default/other")
        assert restarts_of(controller, "process/default/other") == 0
        await here.pass_time(300)
        assert restarts(controller) == 3
        await controller.stop()


def restarts_of(controller: Controller, workload: str) -> int:
    return controller.tenant.board.workloads[workload].restarts


@virtual_time
async def test_a_process_that_came_to_its_end_is_not_run_again() -> None:
    async with world() as here:
        once = {"processes": [process(annotations=simulated(run_time="1s", exit_code="0"))]}
        first = here.start(config(workloads=once))
        await eventually(lambda: first.phase() == "completed", 60)
        before = await here.pod()
        await first.die()
        second = here.start(config("b", workloads=once))
        await eventually(lambda: second.leads and second.phase() == "completed", 60)
        await here.pass_time(60)
        now = await here.pod()
        assert before is not None
        assert now is not None
        assert now["metadata"]["uid"] == before["metadata"]["uid"]
        await second.stop()


@virtual_time
async def test_what_is_not_ready_in_time_is_told() -> None:
    async with world() as here:
        lazy = process(annotations=simulated(ready_after="never"), readinessTimeout="30s")
        controller = here.start(config(workloads={"processes": [lazy]}))
        await eventually(lambda: controller.phase() == "degraded", 60)
        assert controller.tenant.board.workloads[BEAT].last_error == "not ready after 30 s"
        await controller.stop()


@virtual_time
async def test_what_left_the_configuration_is_taken_away_and_nothing_else() -> None:
    async with world() as here:
        controller = here.start(config(workloads={"processes": [process()], "services": [WEB]}))
        other = here.start(config("c", tenant="other", workloads={"processes": [process("theirs")]}))
        await here.client.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine"}, "spec": {"containers": [
                {"name": "c", "image": "i"}]}}
        )  # fmt: skip
        await here.running(controller)
        await here.running(controller, "service/default/web")
        await here.running(other, "process/default/theirs")
        controller.tenant.configure(config(workloads={"processes": [process("new")]}))
        await here.running(controller, "process/default/new")
        await here.pass_time(60)
        names = {pod["metadata"]["name"] for pod in await here.client.list(PODS)}
        assert names == {"new-pod", "theirs-pod", "mine"}
        assert not await here.client.list(DEPLOYMENTS)
        assert not await here.client.list(SERVICES, labels="managed-by=highlander")
        assert set(controller.tenant.board.workloads) == {"process/default/new"}
        await controller.stop()
        await other.stop()


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({}, id="no-labels"),
        pytest.param(
            {
                "app": "beat",
                "managed-by": "highlander",
                "tenant": "somebody",
                "highlander.steersman.dev/kind": "process",
                "highlander.steersman.dev/workload": "beat",
            },
            id="another-tenants",
        ),
    ],
)
def test_an_object_of_somebody_else_is_never_touched(labels: dict[str, str]) -> None:
    @virtual_time
    async def run() -> None:
        async with world() as here:
            foreign = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "beat-pod", "labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }
            made = await here.client.create(foreign)
            controller = here.start(config())
            await eventually(lambda: controller.leads and controller.phase() == "refused", 30)
            assert "was not created by Highlander" in controller.tenant.board.workloads[BEAT].last_error
            await here.pass_time(60)
            now = await here.pod()
            assert now is not None
            assert now["metadata"]["uid"] == made["metadata"]["uid"]
            assert "deletionTimestamp" not in now["metadata"]
            await here.client.delete(PODS, "beat-pod", grace_s=0)
            await here.running(controller)
            await controller.stop()

    run()


@virtual_time
async def test_a_changed_process_is_replaced_and_an_unchanged_one_is_not() -> None:
    async with world() as here:
        both = {"processes": [process(), process("other")]}
        controller = here.start(config(workloads=both))
        await here.running(controller)
        await here.running(controller, "process/default/other")
        before, other = await here.pod(), await here.pod("other-pod")
        assert before is not None
        assert other is not None
        changed = {"processes": [process(env={"A": "1"}), process("other")]}
        controller.tenant.configure(config(workloads=changed))

        async def is_changed() -> bool:
            now = await here.pod()
            return now is not None and now["metadata"]["uid"] != before["metadata"]["uid"]

        await eventually(is_changed, 30)
        await here.running(controller)
        still = await here.pod("other-pod")
        assert still is not None
        assert still["metadata"]["uid"] == other["metadata"]["uid"]
        await controller.stop()


@virtual_time
async def test_a_drained_controller_contends_no_more_until_told_to() -> None:
    async with world() as here:
        first, second = here.start(config()), None
        await here.running(first)
        second = here.start(config("b"))
        await first.tenant.drain()
        await here.running(second)
        await second.stop()
        await here.pass_time(60)
        assert not first.leads
        assert str(first.tenant.board.controller.phase) == "drained"
        await first.tenant.undrain()
        await here.running(first)
        await first.stop()


@virtual_time
async def test_only_a_leader_does_what_leaders_do() -> None:
    async with world() as here:
        first = here.start(config())
        await here.running(first)
        second = here.start(config("b"))
        await eventually(lambda: second.tenant.board.controller.leader == first.owner, 30)
        for act in (
            second.tenant.pause,
            second.tenant.resume,
            second.tenant.restart,
            second.tenant.step_down,
        ):
            with pytest.raises(NotLeader):
                await act(BEAT)
        with pytest.raises(KeyError):
            await first.tenant.pause("process/default/nothing")
        assert await here.client.find(CONFIG_MAPS, "highlander-shop") is None
        await second.stop()
        await first.stop()


@pytest.mark.parametrize(("policy", "left"), [("stop", False), ("leave", True)])
def test_what_happens_to_workloads_when_leadership_is_lost(policy: str, left: bool) -> None:
    @virtual_time
    async def run() -> None:
        async with world() as here:
            controller = here.start(config(onLoss=policy))
            await here.running(controller)
            with controller.faults.refuse(503, resource="leases"):
                await eventually(lambda: not controller.leads, 30)
                await here.pass_time(10)
                pod = await here.pod()
                assert (pod is not None) is left
            await controller.stop()

    run()


@virtual_time
async def test_one_that_remains_a_follower_only_looks() -> None:
    async with world() as here:
        watching = here.start(config("w", remainsFollower=True))
        await here.pass_time(60)
        assert not watching.leads
        first = here.start(config())
        await here.running(first)
        await eventually(lambda: watching.tenant.board.controller.leader == first.owner, 30)
        await eventually(lambda: watching.phase() == "running", 30)
        await watching.stop()
        await first.stop()


@virtual_time
async def test_a_leader_gives_way_to_a_higher_priority_that_stays_healthy() -> None:
    async with world() as here:
        low = here.start(config("low"))
        await here.running(low)
        high = here.start(config("high", priority=10))
        await here.pass_time(5)
        assert low.leads
        await here.running(high)
        assert any("hands over to high" in entry.reason for entry in low.tenant.board.history)
        await here.pass_time(60)
        assert high.leads
        await low.stop()
        await high.stop()


@virtual_time
async def test_a_configuration_that_needs_a_new_process_changes_nothing() -> None:
    async with world() as here:
        controller = here.start(config())
        await here.running(controller)
        with pytest.raises(ConfigError, match="storage_type cannot change"):
            controller.tenant.configure(config(storageType="redis"))
        assert controller.leads
        await controller.stop()


@virtual_time
async def test_history_and_counters_tell_what_happened() -> None:
    async with world() as here:
        first = here.start(config())
        await here.running(first)
        second = here.start(config("b"))
        await here.pass_time(5)
        await first.tenant.step_down("maintenance")
        await here.running(second)
        await eventually(lambda: first.tenant.board.controller.leader == second.owner, 30)
        told = [(entry.from_leader, entry.to_leader, entry.reason) for entry in first.tenant.board.history]
        assert told[0] == ("", first.owner, "elected")
        assert told[1] == (first.owner, "", "maintenance")
        assert told[2][1] == second.owner
        counters = {name: value for (name, _), value in second.tenant.board.counters.items()}
        assert counters["leadership_acquisitions_total"] == 1
        assert counters["failover_total"] == 1
        state = second.tenant.board.controller
        assert state.lease_margin_s is not None
        assert 0 < state.lease_margin_s <= 2
        assert state.storage_healthy
        assert state.cluster_healthy
        await first.stop()
        await second.stop()
