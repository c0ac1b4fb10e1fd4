"""ReplicaSets and ReplicationControllers with an API server and played nodes."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import patch

from steersman.objects.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, RESOURCE_QUOTAS
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.support.manifests import pod

Object = dict[str, Any]


def replica_set(name: str = "web", replicas: int = 3, **spec: Any) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


@with_workloads("replicaset")
async def test_pods_are_made_and_counted_and_then_nothing_more_is_written(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set())
    found = await world.until_status(REPLICA_SETS, "web", replicas=3, readyReplicas=3, availableReplicas=3)
    assert found["status"]["observedGeneration"] == 1
    assert found["status"]["fullyLabeledReplicas"] == 3
    assert found["status"]["terminatingReplicas"] == 0
    for made in await world.pods():
        [owner] = made["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (found["metadata"]["uid"], True)
        assert made["metadata"]["generateName"] == "web-"
    await world.quiet()
    reasons = [reason for reason, _ in await world.events("ReplicaSet")]
    assert reasons == ["SuccessfulCreate"] * 3


@with_workloads("replicaset")
async def test_scaling_down_spares_the_dear_ones(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set())
    await world.until_status(REPLICA_SETS, "web", readyReplicas=3)
    dear = (await world.pods())[1]["metadata"]["name"]
    cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "100"}}}
    await world.client.patch(PODS, dear, cost, NAMESPACE)
    await world.patch(REPLICA_SETS, "web", replicas=1)
    await world.until_status(REPLICA_SETS, "web", replicas=1, terminatingReplicas=0)
    assert await world.names(PODS) == [dear]


@with_workloads("replicaset")
async def test_pods_that_go_or_end_are_replaced(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set())
    await world.until_status(REPLICA_SETS, "web", readyReplicas=3)
    gone, failed, _ = await world.names(PODS)
    await world.client.delete(PODS, gone, NAMESPACE)
    await world.set_pod(failed, phase="Failed")

    async def replaced() -> bool:
        running = [one for one in await world.pods() if one["status"]["phase"] == "Running"]
        return len(running) == 3 and gone not in await world.names(PODS)

    await world.until(replaced)
    assert failed in await world.names(PODS)  # what ended is kept for whoever wants to know
    await world.until_status(REPLICA_SETS, "web", replicas=3, readyReplicas=3)


@with_workloads("replicaset")
async def test_matching_orphans_are_adopted_and_others_released(world: World) -> None:
    await world.create(PODS, pod("orphan", {"app": "web"}))
    await world.create(REPLICA_SETS, replica_set(replicas=2))
    await world.until_status(REPLICA_SETS, "web", readyReplicas=2)
    names = await world.names(PODS)
    assert len(names) == 2
    adopted = await world.get(PODS, "orphan")
    assert adopted["metadata"]["ownerReferences"][0]["name"] == "web"
    await world.client.patch(PODS, "orphan", {"metadata": {"labels": {"app": "other"}}}, NAMESPACE)

    async def released() -> bool:
        return "ownerReferences" not in (await world.get(PODS, "orphan"))["metadata"]

    await world.until(released)
    await world.until_status(REPLICA_SETS, "web", readyReplicas=2)
    assert len(await world.names(PODS)) == 3


@with_workloads("replicaset")
async def test_what_one_set_releases_another_adopts(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set("web", 1))
    await world.create(REPLICA_SETS, replica_set("other", 1))
    await world.until_status(REPLICA_SETS, "web", readyReplicas=1)
    await world.until_status(REPLICA_SETS, "other", readyReplicas=1)
    [moved] = await world.names(PODS, "app=web")
    [doomed] = await world.names(PODS, "app=other")
    # `other` has one too many then; the one that was there longer stays.
    cost = {"controller.kubernetes.io/pod-deletion-cost": "100"}
    change = {"metadata": {"labels": {"app": "other"}, "annotations": cost}}
    await world.client.patch(PODS, moved, change, NAMESPACE)

    async def settled() -> bool:
        return await world.names(PODS, "app=other") == [moved] and len(await world.names(PODS)) == 2

    await world.until(settled)
    assert doomed not in await world.names(PODS)
    owners = (await world.get(PODS, moved))["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == ["other"]


@with_workloads("replicaset")
async def test_a_quota_is_a_condition_until_it_is_lifted(world: World) -> None:
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}
    await world.create(RESOURCE_QUOTAS, quota)
    await world.until_status(RESOURCE_QUOTAS, "few", hard={"pods": "2"})
    await world.create(REPLICA_SETS, replica_set())
    found = await world.until_status(REPLICA_SETS, "web", replicas=2)

    async def failing() -> Any:
        return (await world.get(REPLICA_SETS, "web"))["status"].get("conditions")

    [condition] = await world.until(failing)
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "ReplicaFailure",
        "True",
        "FailedCreate",
    )
    assert "exceeded quota: few" in condition["message"]
    told = [note for reason, note in await world.events("ReplicaSet") if reason == "FailedCreate"]
    assert told
    assert told[0].startswith("Error creating: pods ")
    await world.client.delete(RESOURCE_QUOTAS, "few", NAMESPACE)
    found = await world.until_status(REPLICA_SETS, "web", replicas=3, conditions=None)
    assert "conditions" not in found["status"]


@with_workloads("replicaset")
async def test_availability_takes_its_time(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(minReadySeconds=30))
    await world.until_status(REPLICA_SETS, "web", readyReplicas=3)
    start = world.manager.clock.monotonic()
    await world.until_status(REPLICA_SETS, "web", availableReplicas=3)
    assert 28 <= world.manager.clock.monotonic() - start <= 33
    await world.quiet()


@with_workloads("replicaset")
async def test_a_set_that_is_being_deleted_makes_no_more_pods(world: World) -> None:
    await world.create(
        REPLICA_SETS, {**replica_set(), "metadata": {"name": "web", "finalizers": ["example.com/x"]}}
    )
    await world.until_status(REPLICA_SETS, "web", readyReplicas=3)
    await world.client.delete(REPLICA_SETS, "web", NAMESPACE, propagation="Background")
    gone = (await world.names(PODS))[0]
    await world.client.delete(PODS, gone, NAMESPACE)
    await world.until_status(REPLICA_SETS, "web", replicas=2, terminatingReplicas=0)
    await world.quiet()
    assert len(await world.names(PODS)) == 2


@with_workloads("replicationcontroller")
async def test_replication_controllers_do_the_same(world: World) -> None:
    subject = replica_set()
    subject["spec"]["selector"] = {"app": "web"}
    await world.create(PODS, pod("orphan", {"app": "web"}))
    await world.create(REPLICATION_CONTROLLERS, subject)
    found = await world.until_status(REPLICATION_CONTROLLERS, "web", readyReplicas=3)
    assert "terminatingReplicas" not in found["status"]
    assert "orphan" in await world.names(PODS)
    await world.patch(REPLICATION_CONTROLLERS, "web", replicas=0)
    await world.until_status(REPLICATION_CONTROLLERS, "web", replicas=0)
    await world.quiet()
    assert {reason for reason, _ in await world.events("ReplicationController")} == {
        "SuccessfulCreate",
        "SuccessfulDelete",
    }


@with_workloads("replicaset")
async def test_many_pods_come_in_one_go(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(replicas=60))
    await world.until_status(REPLICA_SETS, "web", readyReplicas=60)
    assert len(await world.names(PODS)) == 60


@with_workloads("replicaset")
async def test_more_pods_than_in_one_go_come_all_the_same(world: World) -> None:
    await asyncio.sleep(0.1)
    world.nodes.bound = lambda one: False  # nothing about them wakes the controller
    with patch("steersman.cluster.controllers.replicas.BURST", 4):
        await world.create(REPLICA_SETS, replica_set(replicas=10))
        await world.until_status(REPLICA_SETS, "web", replicas=10)
        await world.patch(REPLICA_SETS, "web", replicas=1)
        await world.until_status(REPLICA_SETS, "web", replicas=1)
