"""StatefulSets with an API server and played nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.objects.resources import (
    CONTROLLER_REVISIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    STATEFUL_SETS,
)
from tests.integration.controllers.workloads import NAMESPACE, World, dying, with_workloads
from tests.support.manifests import pod

Object = dict[str, Any]

with_statefulsets = with_workloads("statefulset")


def stateful_set(replicas: int = 3, claims: bool = False, **spec: Any) -> Object:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "db:1"}]}}
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if claims:
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": storage}]
    return {
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": template,
            **spec,
        },
    }


async def set_image(world: World, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    await world.patch(STATEFUL_SETS, "db", template={"spec": {"containers": containers}})


async def images(world: World) -> dict[str, str]:
    return {one["metadata"]["name"]: one["spec"]["containers"][0]["image"] for one in await world.pods()}


def number_of(one: Object) -> int:
    return int(one["metadata"]["name"].rpartition("-")[2])


def watched(world: World, resource_pods: list[list[str]]) -> Callable[[], None]:
    """Notes the names of the pods that are there after each write."""

    def look() -> None:
        names = sorted(cached.key.name for cached in world.manager.informers.get(PODS).cache)
        if not resource_pods or resource_pods[-1] != names:
            resource_pods.append(names)

    return look


@with_statefulsets
async def test_pods_come_one_after_the_other_and_go_the_other_way_round(world: World) -> None:
    seen: list[list[str]] = []
    world.on_write = watched(world, seen)
    await world.create(STATEFUL_SETS, stateful_set())
    found = await world.until_status(STATEFUL_SETS, "db", readyReplicas=3, availableReplicas=3)
    status = found["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (3, 3)
    await world.quiet()
    await world.patch(STATEFUL_SETS, "db", replicas=1)
    await world.until_status(STATEFUL_SETS, "db", replicas=1)
    await world.quiet()
    assert [len(names) for names in seen if names] == [1, 2, 3, 2, 1]
    assert seen[-1] == ["db-0"]
    assert ("SuccessfulCreate", "Create Pod db-0 in StatefulSet db successful") in await world.events(
        "StatefulSet"
    )


@with_statefulsets
async def test_scaling_halts_while_a_pod_is_not_ready(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set(1))
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=1)
    world.nodes.ready = lambda one: False
    world.nodes.look_again()
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=0)
    await world.patch(STATEFUL_SETS, "db", replicas=3)
    await world.quiet()
    assert await world.names(PODS) == ["db-0"]
    world.nodes.ready = lambda one: True
    world.nodes.look_again()
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=3)


@with_statefulsets
async def test_in_parallel_nothing_is_waited_for(world: World) -> None:
    await asyncio.sleep(0.1)
    world.nodes.ready = lambda one: False
    await world.create(STATEFUL_SETS, stateful_set(podManagementPolicy="Parallel"))
    await world.until_status(STATEFUL_SETS, "db", replicas=3)
    await world.patch(STATEFUL_SETS, "db", replicas=0)
    await world.until_status(STATEFUL_SETS, "db", replicas=0)


@with_statefulsets
async def test_updates_go_from_the_highest_number_down_and_back(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set())
    before = await world.until_status(STATEFUL_SETS, "db", readyReplicas=3)
    order: list[int] = []

    def look() -> None:
        for cached in world.manager.informers.get(PODS).cache:
            one = cached.object()
            if "deletionTimestamp" in one["metadata"] and number_of(one) not in order:
                order.append(number_of(one))

    world.on_write = look
    await set_image(world, "db:2")
    await world.until_status(STATEFUL_SETS, "db", observedGeneration=2, updatedReplicas=3, readyReplicas=3)
    assert order == [2, 1, 0]
    assert set((await images(world)).values()) == {"db:2"}
    await world.quiet()
    await set_image(world, "db:1")
    found = await world.until_status(
        STATEFUL_SETS, "db", observedGeneration=3, updatedReplicas=3, readyReplicas=3
    )
    assert found["status"]["updateRevision"] == before["status"]["updateRevision"]
    revisions = await world.client.list(CONTROLLER_REVISIONS, NAMESPACE)
    assert sorted(one["revision"] for one in revisions) == [2, 3]


@with_statefulsets
async def test_a_partition_makes_a_canary(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set())
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=3)
    await world.patch(STATEFUL_SETS, "db", updateStrategy={"rollingUpdate": {"partition": 2}})
    await set_image(world, "db:2")
    found = await world.until_status(
        STATEFUL_SETS, "db", observedGeneration=3, updatedReplicas=1, currentReplicas=2, readyReplicas=3
    )
    assert found["status"]["currentRevision"] != found["status"]["updateRevision"]
    assert await images(world) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    await world.client.delete(PODS, "db-0", NAMESPACE)
    await world.client.delete(PODS, "db-2", NAMESPACE)
    await world.quiet()
    assert await images(world) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    await world.patch(STATEFUL_SETS, "db", updateStrategy={"rollingUpdate": {"partition": 0}})
    await world.until_status(STATEFUL_SETS, "db", observedGeneration=4, updatedReplicas=3, readyReplicas=3)


@with_statefulsets
async def test_on_delete_updates_what_is_deleted(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set(updateStrategy={"type": "OnDelete"}))
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=3)
    await set_image(world, "db:2")
    await world.client.delete(PODS, "db-1", NAMESPACE)
    await world.until_status(STATEFUL_SETS, "db", observedGeneration=2, updatedReplicas=1, readyReplicas=3)
    assert await images(world) == {"db-0": "db:1", "db-1": "db:2", "db-2": "db:1"}


@with_statefulsets
async def test_a_pod_that_ends_is_made_again(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set(1))
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=1)
    uid = (await world.get(PODS, "db-0"))["metadata"]["uid"]
    await world.set_pod("db-0", phase="Failed")

    async def again() -> bool:
        found = await world.client.find(PODS, "db-0", NAMESPACE)
        return found is not None and found["metadata"]["uid"] != uid

    await world.until(again)
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=1)


@with_statefulsets
async def test_storage_outlives_pods_unless_told_otherwise(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set(2, claims=True))
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=2)
    assert await world.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0", "data-db-1"]
    volumes = (await world.get(PODS, "db-1"))["spec"]["volumes"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}} in volumes

    async def owners() -> list[list[str]]:
        claims = await world.client.list(PERSISTENT_VOLUME_CLAIMS, NAMESPACE)
        return [[owner["kind"] for owner in one["metadata"].get("ownerReferences", ())] for one in claims]

    assert await owners() == [[], []]
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    await world.patch(STATEFUL_SETS, "db", persistentVolumeClaimRetentionPolicy=policy)

    async def owned_by(*kinds: str) -> bool:
        return await owners() == [[kind] for kind in kinds]

    await world.until(lambda: owned_by("StatefulSet", "StatefulSet"))
    await world.patch(STATEFUL_SETS, "db", replicas=1)
    await world.until(lambda: owned_by("StatefulSet", "Pod"))
    await world.until_status(STATEFUL_SETS, "db", replicas=1)
    await world.quiet()
    # The claim is about to go with the pod it was for: a new pod must not take it.
    await world.patch(STATEFUL_SETS, "db", replicas=2)
    await world.quiet()
    assert await world.names(PODS) == ["db-0"]


@with_statefulsets
async def test_a_claim_that_is_missing_is_made_while_its_pod_waits(world: World) -> None:
    await asyncio.sleep(0.1)
    world.nodes.ready = lambda one: False
    await world.create(STATEFUL_SETS, stateful_set(1, claims=True))
    await world.until_status(STATEFUL_SETS, "db", replicas=1)
    await world.set_pod("db-0", phase="Pending")
    await world.client.patch(
        PERSISTENT_VOLUME_CLAIMS, "data-db-0", {"metadata": {"finalizers": None}}, NAMESPACE
    )
    await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "data-db-0", NAMESPACE)
    await world.set_pod("db-0", phase="Pending", message="look")
    await world.client.patch(PODS, "db-0", {"metadata": {"labels": {"look": "again"}}}, NAMESPACE)

    async def made() -> bool:
        return await world.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0"]

    await world.until(made)


@with_statefulsets
async def test_names_start_where_asked(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set(2, ordinals={"start": 3}))
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=2)
    assert await world.names(PODS) == ["db-3", "db-4"]


@with_statefulsets
async def test_a_pod_with_a_name_of_the_set_is_adopted_and_labelled(world: World) -> None:
    await world.create(PODS, pod("db-0", {"app": "db"}))
    await world.create(PODS, pod("stranger", {"app": "db"}))
    await world.create(STATEFUL_SETS, stateful_set(1))

    async def adopted() -> bool:
        metadata = (await world.get(PODS, "db-0"))["metadata"]
        return metadata.get("labels", {}).get("statefulset.kubernetes.io/pod-name") == "db-0" or (
            "ownerReferences" in metadata and "deletionTimestamp" in metadata
        )

    await world.until(adopted)
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=1, updatedReplicas=1)
    assert "ownerReferences" not in (await world.get(PODS, "stranger"))["metadata"]


@with_statefulsets
async def test_history_is_limited(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set(1, revisionHistoryLimit=1))
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=1)
    for generation, image in enumerate(("db:2", "db:3", "db:4"), 2):
        await set_image(world, image)
        await world.until_status(
            STATEFUL_SETS, "db", observedGeneration=generation, updatedReplicas=1, readyReplicas=1
        )

    async def cleaned() -> bool:
        revisions = await world.client.list(CONTROLLER_REVISIONS, NAMESPACE)
        return sorted(one["revision"] for one in revisions) == [3, 4]

    await world.until(cleaned)
    await world.quiet()


@with_statefulsets
async def test_availability_takes_its_time(world: World) -> None:
    await world.create(STATEFUL_SETS, stateful_set(2, minReadySeconds=20))
    await world.until_status(STATEFUL_SETS, "db", readyReplicas=1)
    start = world.manager.clock.monotonic()
    await world.until_status(STATEFUL_SETS, "db", availableReplicas=2)
    assert 38 <= world.manager.clock.monotonic() - start <= 45


@pytest.mark.parametrize("writes", [1, 2, 3, 5, 8, 13])
def test_an_update_survives_the_end_of_the_controller_at_any_write(writes: int) -> None:
    def acts(world: World) -> list[Awaitable[Any]]:
        return [
            world.create(STATEFUL_SETS, stateful_set(claims=True)),
            asyncio.sleep(60),
            set_image(world, "db:2"),
            asyncio.sleep(60),
        ]

    async def settled(world: World) -> None:
        await world.until_status(
            STATEFUL_SETS, "db", observedGeneration=2, updatedReplicas=3, readyReplicas=3
        )
        await world.quiet()
        assert await images(world) == {"db-0": "db:2", "db-1": "db:2", "db-2": "db:2"}
        assert len(await world.names(CONTROLLER_REVISIONS)) == 2
        assert len(await world.names(PERSISTENT_VOLUME_CLAIMS)) == 3

    dying(("statefulset",), writes, acts, settled)
