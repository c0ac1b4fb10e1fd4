"""Workloads as custom resources: run, answered, taken away."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.client import NotFound
from steersman.highlander.custom import FINALIZER
from steersman.highlander.resources import RESOURCES, WorkloadProcess, WorkloadService, definitions
from steersman.objects.custom import CustomResource
from steersman.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS
from steersman.testing import eventually, virtual_time
from tests.integration.highlander.worlds import World, config, world

EMPTY: dict[str, Any] = {"processes": []}
KEY = "process/default/task"


async def install(here: World) -> None:
    for definition in definitions(public=True):
        await here.client.apply(definition, kind=CUSTOM_RESOURCE_DEFINITIONS, field_manager="test")
    for kind in RESOURCES:

        async def served(kind: type[CustomResource] = kind) -> bool:
            try:
                await here.client.list(kind.resource_type)
            except NotFound:
                return False
            return True

        await eventually(served, 30)


def task(kind: type[CustomResource] = WorkloadProcess, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": kind.resource_type.api_version,
        "kind": kind.resource_type.kind,
        "metadata": {"name": "task", "namespace": "default"},
        "spec": {"tenant": "shop", "image": "image", **spec},
    }


@pytest.mark.parametrize("kind", [RESOURCES[0], RESOURCES[4]], ids=["our-group", "public-group"])
def test_an_object_is_run_answered_and_taken_away(kind: type[CustomResource]) -> None:
    @virtual_time
    async def run() -> None:
        async with world() as here:
            await install(here)
            controller = here.start(config(customResources=True, workloads=EMPTY))
            resource = kind.resource_type
            await here.client.create(task(kind), kind=resource)
            await here.client.create(
                {**task(kind, tenant="other"), "metadata": {"name": "theirs", "namespace": "default"}},
                kind=resource,
            )
            await here.running(controller, KEY)

            async def answered() -> bool:
                found = await here.client.get(resource, "task")
                status = found.get("status") or {}
                conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
                return bool(status.get("ready")) and conditions == {"Ready": "True"}

            await eventually(answered, 30)
            found = await here.client.get(resource, "task")
            assert found["metadata"]["finalizers"] == [FINALIZER]
            assert found["status"]["phase"] == "running"
            assert found["status"]["epoch"] == 1
            assert [pod["metadata"]["name"] for pod in await here.client.list(PODS)] == ["task-pod"]
            await here.client.delete(resource, "task")

            async def gone() -> bool:
                return await here.client.find(resource, "task") is None

            await eventually(gone, 60)
            assert not await here.client.list(PODS)
            assert "status" not in await here.client.get(resource, "theirs")
            await controller.stop()

    run()


@virtual_time
async def test_a_change_that_makes_no_sense_leaves_what_runs() -> None:
    async with world() as here:
        await install(here)
        controller = here.start(config(customResources=True, workloads=EMPTY))
        resource = WorkloadProcess.resource_type
        await here.client.create(task(), kind=resource)
        await here.running(controller, KEY)
        before = await here.pod("task-pod")
        assert before is not None
        await here.client.patch(resource, "task", {"spec": {"image": ""}})

        async def told() -> bool:
            found = await here.client.get(resource, "task")
            conditions = (found.get("status") or {}).get("conditions") or ()
            return [each["reason"] for each in conditions] == ["Invalid"]

        await eventually(told, 30)
        await here.pass_time(30)
        now = await here.pod("task-pod")
        assert now is not None
        assert now["metadata"]["uid"] == before["metadata"]["uid"]
        await controller.stop()


@virtual_time
async def test_an_object_that_the_file_refers_to_is_the_tenants_whatever_it_says() -> None:
    async with world() as here:
        await install(here)
        entry = {"name": "entry", "workloadCRDRef": {"name": "task"}}
        controller = here.start(config(workloads={"processes": [entry]}))
        await here.client.create(task(tenant="other"), kind=WorkloadProcess.resource_type)
        namesake = {**task(tenant="other"), "kind": "WorkloadService"}
        await here.client.create(namesake, kind=WorkloadService.resource_type)
        await here.running(controller, KEY)
        assert list(controller.tenant.board.workloads) == [KEY]
        await controller.stop()
