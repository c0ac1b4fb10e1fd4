"""Ephemeral volumes: their claims are made of the pods, once, and again when they are lost."""

from __future__ import annotations

from typing import Any

from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.support.manifests import pod

Object = dict[str, Any]

SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

ephemeral = with_workloads("ephemeral-volume")


def with_scratch(name: str = "p") -> Object:
    described = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    template = {"metadata": described, "spec": {**SPEC, "storageClassName": "fast"}}
    volumes = [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    return pod(name, volumes=volumes)


async def _claim(world: World) -> Object | None:
    return await world.client.find(PERSISTENT_VOLUME_CLAIMS, "p-scratch", NAMESPACE)


@ephemeral
async def test_a_claim_is_made_of_the_template(world: World) -> None:
    owner = (await world.create(PODS, with_scratch()))["metadata"]
    await world.create(PODS, pod("other"))
    claim = await world.until(lambda: _claim(world))
    assert await world.names(PERSISTENT_VOLUME_CLAIMS) == ["p-scratch"]
    assert claim["metadata"]["labels"] == {"a": "b"}
    assert claim["metadata"]["annotations"] == {"c": "d"}
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"] == SPEC["resources"]
    assert claim["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "uid": owner["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    await world.quiet()


@ephemeral
async def test_a_claim_that_is_lost_is_made_again(world: World) -> None:
    await world.create(PODS, with_scratch())
    first = await world.until(lambda: _claim(world))
    await world.client.patch(
        PERSISTENT_VOLUME_CLAIMS, "p-scratch", {"metadata": {"finalizers": None}}, NAMESPACE
    )
    await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "p-scratch", NAMESPACE)

    async def again() -> bool:
        found = await _claim(world)
        return found is not None and found["metadata"]["uid"] != first["metadata"]["uid"]

    await world.until(again)


@ephemeral
async def test_a_claim_of_somebody_else_is_left_alone(world: World) -> None:
    await world.create(
        PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "p-scratch", "namespace": NAMESPACE}, "spec": SPEC}
    )
    await world.create(PODS, with_scratch())
    events = await world.events("Pod")
    note = (
        "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)"
    )
    assert ("FailedBinding", note) in events
    claim = await _claim(world)
    assert claim is not None
    assert "ownerReferences" not in claim["metadata"]
