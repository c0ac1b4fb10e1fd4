"""The ways in which the public project breaks its promise; none of them breaks ours.

`world` watches all pods and fails if there ever were two living copies of a workload, or an epoch went back.
"""

from __future__ import annotations

from typing import Any

import pytest

from steersman.highlander.config import TenantConfig
from steersman.highlander.stopping import stop
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, JOBS, LEASES, NODES, PODS, STATEFUL_SETS
from steersman.operator.terms import TERM
from steersman.runtime import Writes
from steersman.testing import eventually, virtual_time
from tests.integration.highlander.worlds import Controller, World, config, process, world

ALL_KINDS: dict[str, Any] = {
    "processes": [process()],
    "cronJobs": [{"name": "tick", "image": "image", "schedule": "* * * * *"}],
    "services": [{"name": "web", "image": "image", "ports": [{"containerPort": 80}]}],
    "persistentSets": [{"name": "db", "image": "image"}],
}


def slow_to_stop(duration: str) -> dict[str, Any]:
    return process(annotations={"simulated.steersman.dev/stop-time": duration}, terminationGracePeriod=3600)


async def led(here: World, given: TenantConfig) -> Controller:
    controller = here.start(given)
    await here.running(controller)
    return controller


@virtual_time
async def test_the_lock_is_released_only_when_the_workloads_are_gone() -> None:
    async with world() as here:
        first = await led(here, config(workloads={"processes": [slow_to_stop("20s")]}))
        second = here.start(config("b", workloads={"processes": [slow_to_stop("20s")]}))
        await first.tenant.step_down("test")
        await here.pass_time(15)
        assert (await here.client.get(LEASES, "highlander-shop"))["spec"]["holderIdentity"] == first.owner
        assert not second.leads
        await here.running(second)
        await second.stop()


@virtual_time
async def test_renewal_does_not_wait_for_work_on_workloads() -> None:
    async with world() as here:
        controller = here.start(config())
        controller.faults.delay(60, resource="pods", verb="create")
        await eventually(lambda: controller.leads, 30)
        epoch = controller.tenant.board.controller.epoch
        for _ in range(60):
            await here.pass_time(1)
            assert controller.leads
        assert controller.tenant.board.controller.epoch == epoch
        await here.running(controller)
        await controller.stop()


@virtual_time
async def test_a_leader_whose_store_hangs_stops_believing_before_another_may_lead() -> None:
    async with world() as here:
        first = await led(here, config())
        second = here.start(config("b"))
        await here.pass_time(2)
        first.faults.hang()
        while not second.leads:
            await here.pass_time(0.1)
            assert not (first.leads and second.leads)
        await here.running(second)
        first.faults.clear()
        await here.pass_time(30)
        assert second.leads
        assert not first.leads
        await first.stop()
        await second.stop()


@pytest.mark.parametrize("shift_s", [3600.0, -3600.0], ids=["an-hour-ahead", "an-hour-behind"])
def test_a_clock_that_is_wrong_takes_no_lock(shift_s: float) -> None:
    @virtual_time
    async def run() -> None:
        async with world() as here:
            first = await led(here, config())
            second = here.start(config("b"), wall_shift_s=shift_s)
            await here.pass_time(60)
            assert first.leads
            assert not second.leads
            await first.die()
            await here.running(second)
            await second.stop()

    run()


@virtual_time
async def test_two_controllers_of_the_same_id_are_two() -> None:
    async with world() as here:
        both = [here.start(config("same")), here.start(config("same"))]
        await eventually(lambda: any(each.leads for each in both), 30)
        for _ in range(20):
            assert len(list(here.one(both))) == 1
            await here.pass_time(1)
        assert both[0].owner != both[1].owner
        for each in both:
            await each.stop()


@virtual_time
async def test_a_takeover_waits_for_the_copies_of_the_one_before() -> None:
    async with world() as here:
        given = {"processes": [slow_to_stop("30s")]}
        first = await led(here, config(workloads=given))
        before = await here.pod()
        assert before is not None
        await first.die()
        second = here.start(config("b", workloads=given))
        await eventually(lambda: second.leads, 30)
        await here.pass_time(20)
        still = await here.pod()
        assert still is not None
        assert still["metadata"]["uid"] == before["metadata"]["uid"]
        assert second.phase() == "stopping"
        await here.running(second)
        await second.stop()


@virtual_time
async def test_a_follower_that_starts_does_not_resume_cron_jobs() -> None:
    async with world() as here:
        workloads = {"cronJobs": ALL_KINDS["cronJobs"]}
        first = here.start(config(workloads=workloads))
        await here.running(first, "cronjob/default/tick")
        await first.stop()
        assert (await here.client.get(CRON_JOBS, "tick"))["spec"]["suspend"] is True
        follower = here.start(config("b", workloads=workloads, remainsFollower=True))
        await here.pass_time(180)
        assert (await here.client.get(CRON_JOBS, "tick"))["spec"]["suspend"] is True
        assert not await here.client.list(PODS)
        await follower.stop()


@virtual_time
async def test_an_update_of_a_service_never_has_two_copies() -> None:
    async with world() as here:
        workloads = {"services": ALL_KINDS["services"]}
        controller = here.start(config(workloads=workloads))
        await here.running(controller, "service/default/web")
        changed = {"services": [{**workloads["services"][0], "image": "another"}]}
        controller.tenant.configure(config(workloads=changed))

        async def updated() -> bool:
            pods = await here.client.list(PODS)
            ready = controller.tenant.board.workloads["service/default/web"].ready
            return ready and [pod["spec"]["containers"][0]["image"] for pod in pods] == ["another"]

        await eventually(updated, 60)
        await controller.stop()


@virtual_time
async def test_a_node_that_is_silent_proves_nothing() -> None:
    async with world() as here:
        first = await led(here, config())
        before = await here.pod()
        assert before is not None
        node = before["spec"]["nodeName"]
        offline = {"simulated.steersman.dev/offline": "true"}
        await here.client.patch(NODES, node, {"metadata": {"annotations": offline}})
        await first.die()
        second = here.start(config("b"))
        await here.pass_time(900)
        still = await here.pod()
        assert still is not None
        assert still["metadata"]["uid"] == before["metadata"]["uid"]
        online = {"simulated.steersman.dev/offline": None}
        await here.client.patch(NODES, node, {"metadata": {"annotations": online}})
        await here.running(second)
        await second.stop()


@virtual_time
async def test_every_write_carries_the_epoch() -> None:
    async with world() as here:
        first = await led(here, config(workloads=ALL_KINDS))
        await here.pass_time(70)
        await first.die()
        second = here.start(config("b", workloads=ALL_KINDS))
        await here.running(second)
        await here.running(second, "service/default/web")
        await here.pass_time(70)
        epoch = str(second.tenant.board.controller.epoch)
        for resource in (CRON_JOBS, DEPLOYMENTS, STATEFUL_SETS):
            (found,) = await here.client.list(resource)
            assert found["metadata"]["annotations"][TERM] == epoch
        for pod in await here.client.list(PODS):
            variables = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
            assert variables["HIGHLANDER_EPOCH"] == pod["metadata"]["annotations"][TERM]
            if pod["status"]["phase"] == "Running":
                assert pod["metadata"]["annotations"][TERM] == epoch
        await second.stop()


@virtual_time
async def test_what_a_former_leader_stops_late_is_not_the_next_ones() -> None:
    async with world() as here:
        first = await led(here, config(workloads=ALL_KINDS))
        epoch = first.tenant.board.controller.epoch
        await first.die()
        second = here.start(config("b", workloads=ALL_KINDS))
        keys = list(second.tenant.specs)
        for key in keys:
            await here.running(second, str(key))
        before = await here.pod()
        assert before is not None
        late = Writes(here.client, "late", second.live.cache)
        for key in keys:
            await stop(late, second.live, "shop", key, epoch)
        await here.pass_time(10)
        now = await here.pod()
        assert now is not None
        assert now["metadata"]["uid"] == before["metadata"]["uid"]
        assert (await here.client.get(DEPLOYMENTS, "web"))["spec"]["replicas"] == 1
        assert (await here.client.get(STATEFUL_SETS, "db"))["spec"]["replicas"] == 1
        assert (await here.client.get(CRON_JOBS, "tick"))["spec"]["suspend"] is False
        await second.stop()


@pytest.mark.parametrize(
    ("workload", "fields"),
    [
        ("process/default/one", {"processes": [{}]}),
        ("service/default/one", {"services": [{}]}),
        ("persistent/default/one", {"persistentSets": [{}]}),
        ("cronjob/default/one", {"cronJobs": [{"schedule": "* * * * *"}]}),
    ],
    ids=["process", "service", "persistent", "cronjob"],
)
def test_what_is_resumed_while_its_last_copy_ends_waits_for_that(
    workload: str, fields: dict[str, Any]
) -> None:
    slow = {**slow_to_stop("20s"), "name": "one"}
    slow["annotations"] = {**slow["annotations"], "simulated.steersman.dev/run-time": "never"}

    @virtual_time
    async def run() -> None:
        async with world() as here:
            workloads = {kind: [{**slow, **each} for each in given] for kind, given in fields.items()}
            controller = here.start(config(workloads=workloads))
            await here.running(controller, workload)
            await here.pass_time(70)
            (before,) = here.witness.copies(workload)
            await controller.tenant.pause(workload)
            await here.pass_time(1)
            await controller.tenant.resume(workload)

            def replaced() -> bool:
                copies = here.witness.copies(workload)
                return bool(copies) and copies[0]["metadata"]["uid"] != before["metadata"]["uid"]

            await eventually(replaced, 120)
            await controller.stop()

    run()


@pytest.mark.parametrize(
    ("kind", "deleted"), [("services", PODS), ("cronJobs", PODS), ("cronJobs", JOBS)], ids=str
)
def test_what_somebody_deletes_is_replaced_when_it_has_ended(kind: str, deleted: ResourceType) -> None:
    more = {"schedule": "* * * * *"} if kind == "cronJobs" else {}
    slow = {**slow_to_stop("90s"), "name": "one", **more}
    slow["annotations"] = {**slow["annotations"], "simulated.steersman.dev/run-time": "never"}
    workload = f"{kind.lower().removesuffix('s')}/default/one"

    @virtual_time
    async def run() -> None:
        async with world() as here:
            controller = here.start(config(workloads={kind: [slow]}))
            await here.running(controller, workload)
            await here.pass_time(70)
            (before,) = here.witness.copies(workload)
            (target,) = await here.client.list(deleted)
            await here.client.delete(deleted, target["metadata"]["name"], propagation="Background")

            def replaced() -> bool:
                copies = here.witness.copies(workload)
                return bool(copies) and copies[0]["metadata"]["uid"] != before["metadata"]["uid"]

            await eventually(replaced, 300)
            await controller.stop()

    run()
