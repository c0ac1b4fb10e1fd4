"""What outlives its deletion, and what does not live on: volumes and claims in use, finished jobs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from steersman.objects.resources import (
    JOBS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    VOLUME_ATTRIBUTES_CLASSES,
)
from steersman.objects.times import format_time
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.support.manifests import pod

Object = dict[str, Any]

claims = with_workloads("pvc-protection")


def claim(name: str = "data") -> Object:
    resources = {"requests": {"storage": "1Gi"}}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources},
    }


def user(name: str, *claims: str, **spec: Any) -> Object:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod(name, volumes=volumes, **spec)


async def _gone(world: World, name: str = "data") -> None:
    async def gone() -> bool:
        return await world.client.find(PERSISTENT_VOLUME_CLAIMS, name, NAMESPACE) is None

    await world.until(gone)


async def _unused(world: World) -> tuple[str, str, str]:
    status = (await world.get(PERSISTENT_VOLUME_CLAIMS, "data"))["status"]
    for one in status.get("conditions") or ():
        if one["type"] == "Unused":
            return one["status"], one["reason"], one["message"]
    return "", "", ""


@claims
async def test_a_claim_goes_when_the_last_pod_that_uses_it_has(world: World) -> None:
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim())
    await world.create(PODS, user("p", "data"))
    await asyncio.sleep(1)
    await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", NAMESPACE)
    await asyncio.sleep(5)
    assert "deletionTimestamp" in (await world.get(PERSISTENT_VOLUME_CLAIMS, "data"))["metadata"]
    await world.quiet()
    await world.client.delete(PODS, "p", NAMESPACE)
    await _gone(world)


@claims
async def test_a_claim_that_nobody_uses_goes_at_once(world: World) -> None:
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim())
    world.nodes.bound = lambda pod: pod["metadata"]["name"] != "waits"
    await world.create(PODS, user("waits", "data"))
    await world.create(PODS, user("p", "other"))
    await asyncio.sleep(1)
    await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", NAMESPACE)
    await _gone(world)


@claims
async def test_a_claim_of_an_ephemeral_volume_is_used_by_the_pod_it_was_made_for(world: World) -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    uid = (await world.create(PODS, pod("p", volumes=volumes)))["metadata"]["uid"]
    for name, owner in (("p-scratch", uid), ("p-other", uid)):
        reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
        made = claim(name)
        made["metadata"]["ownerReferences"] = [reference]
        await world.create(PERSISTENT_VOLUME_CLAIMS, made)
    await asyncio.sleep(1)
    for name in ("p-scratch", "p-other"):
        await world.client.delete(PERSISTENT_VOLUME_CLAIMS, name, NAMESPACE)
    await _gone(world, "p-other")
    await asyncio.sleep(5)
    assert await world.names(PERSISTENT_VOLUME_CLAIMS) == ["p-scratch"]


@claims
async def test_bound_claims_tell_whether_they_are_used(world: World) -> None:
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim())
    await asyncio.sleep(1)
    assert await _unused(world) == ("", "", "")
    bound = {"status": {"phase": "Bound"}}
    await world.client.patch(PERSISTENT_VOLUME_CLAIMS, "data", bound, NAMESPACE, subresource="status")
    await asyncio.sleep(1)
    unused = ("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC")
    assert await _unused(world) == unused
    await world.create(PODS, user("p", "data"))
    await asyncio.sleep(1)
    assert await _unused(world) == ("False", "PodUsingPVC", "A pod is currently referencing this PVC")
    await world.set_pod("p", phase="Succeeded")
    await asyncio.sleep(1)
    assert await _unused(world) == unused
    await world.quiet()


@with_workloads("pv-protection")
async def test_a_volume_goes_when_it_is_not_bound(world: World) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"}}
    await world.create(PERSISTENT_VOLUMES, {"metadata": {"name": "v"}, "spec": spec})
    for phase in ("Bound", "Released"):
        await world.client.patch(PERSISTENT_VOLUMES, "v", {"status": {"phase": phase}}, subresource="status")
        if phase == "Bound":
            await world.client.delete(PERSISTENT_VOLUMES, "v")
            await asyncio.sleep(5)
            assert await world.client.get(PERSISTENT_VOLUMES, "v")

    async def gone() -> bool:
        return await world.client.find(PERSISTENT_VOLUMES, "v") is None

    await world.until(gone)


@with_workloads("volumeattributesclass-protection")
async def test_a_class_of_attributes_goes_when_no_claim_has_it(world: World) -> None:
    await world.create(
        VOLUME_ATTRIBUTES_CLASSES, {"metadata": {"name": "fast"}, "driverName": "d", "parameters": {"a": "b"}}
    )
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeAttributesClassName": "fast",
    }
    metadata = {"name": "c", "namespace": NAMESPACE}
    await world.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": metadata, "spec": spec})
    await world.client.delete(VOLUME_ATTRIBUTES_CLASSES, "fast")
    await asyncio.sleep(5)
    assert await world.client.get(VOLUME_ATTRIBUTES_CLASSES, "fast")
    await world.client.patch(PERSISTENT_VOLUME_CLAIMS, "c", {"metadata": {"finalizers": None}}, NAMESPACE)
    await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "c", NAMESPACE)

    async def gone() -> bool:
        return await world.client.find(VOLUME_ATTRIBUTES_CLASSES, "fast") is None

    await world.until(gone)


@with_workloads("ttl-after-finished")
async def test_a_finished_job_goes_when_its_time_is_up(world: World) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    for name, ttl in (("short", {"ttlSecondsAfterFinished": 30}), ("endless", {}), ("running", {})):
        metadata = {"name": name, "namespace": NAMESPACE}
        await world.create(JOBS, {"metadata": metadata, "spec": {"template": template, **ttl}})
    now = format_time(datetime.fromtimestamp(world.manager.clock.wall(), UTC))
    ended: Object = {"startTime": now, "failed": 1}
    ended["conditions"] = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "reason": "R", "message": "M"}
        for kind in ("FailureTarget", "Failed")
    ]
    for name in ("short", "endless"):
        await world.client.patch(JOBS, name, {"status": ended}, NAMESPACE, subresource="status")
    await asyncio.sleep(29)
    assert await world.names(JOBS) == ["endless", "running", "short"]
    await world.client.patch(JOBS, "short", {"spec": {"ttlSecondsAfterFinished": 60}}, NAMESPACE)
    await asyncio.sleep(29)
    assert "deletionTimestamp" not in (await world.get(JOBS, "short"))["metadata"]
    await asyncio.sleep(3)
    metadata = (await world.get(JOBS, "short"))["metadata"]
    assert "foregroundDeletion" in metadata["finalizers"]
    assert "deletionTimestamp" in metadata
    await world.quiet()
