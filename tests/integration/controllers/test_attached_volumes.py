"""CSI volumes are attached to the nodes of the pods that use them; the driver's part is played."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.objects.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    VOLUME_ATTACHMENTS,
)
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads

Object = dict[str, Any]

with_attaching = with_workloads("attachdetach", "persistentvolume-binder")


async def bound_claim(world: World) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "disks"}
    volume = {
        **spec,
        "capacity": {"storage": "1Gi"},
        "csi": {"driver": "disks.example.com", "volumeHandle": "handle"},
    }
    await world.create(PERSISTENT_VOLUMES, {"metadata": {"name": "v"}, "spec": volume})
    wanted = {**spec, "resources": {"requests": {"storage": "1Gi"}}}
    await world.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": wanted})
    await world.until_status(PERSISTENT_VOLUME_CLAIMS, "c", phase="Bound")


async def add_pod(world: World, name: str, node: str) -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, "nodeName": node}
    await world.create(PODS, {"metadata": {"name": name}, "spec": spec})


async def until_attached_to(world: World, *nodes: str) -> list[Object]:
    async def holds() -> bool:
        found = await world.client.list(VOLUME_ATTACHMENTS)
        return [one["spec"]["nodeName"] for one in found] == list(nodes)

    await world.until(holds)
    return list(await world.client.list(VOLUME_ATTACHMENTS))


@with_attaching
async def test_a_volume_follows_the_pod_that_uses_it(world: World) -> None:
    await world.add_nodes("n1", "n2")
    await bound_claim(world)
    await add_pod(world, "a", "n1")
    [attachment] = await until_attached_to(world, "n1")
    assert attachment["spec"]["attacher"] == "disks.example.com"
    await world.client.patch(
        VOLUME_ATTACHMENTS,
        attachment["metadata"]["name"],
        {"status": {"attached": True}},
        subresource="status",
    )

    async def told() -> bool:
        status = (await world.client.get(NODES, "n1"))["status"]
        return [one["name"] for one in status.get("volumesAttached") or ()] == [
            "kubernetes.io/csi/disks.example.com^handle"
        ]

    await world.until(told)
    # Only one node may have it: the second pod waits until the first one is gone.
    await add_pod(world, "b", "n2")
    await asyncio.sleep(5)
    assert len(await world.client.list(VOLUME_ATTACHMENTS)) == 1
    events = await world.events("Pod")
    assert ("SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "v" ') in events
    assert [reason for reason, _ in events if reason == "FailedAttachVolume"] == ["FailedAttachVolume"]
    await world.client.delete(PODS, "a", NAMESPACE)
    await until_attached_to(world, "n2")

    async def forgotten() -> bool:
        return "volumesAttached" not in (await world.client.get(NODES, "n1"))["status"]

    await world.until(forgotten)
    await world.quiet()


@with_attaching
async def test_a_volume_in_use_stays_until_its_node_is_given_up(world: World) -> None:
    await world.add_nodes("n1", "n2")
    await bound_claim(world)
    await add_pod(world, "a", "n1")
    await until_attached_to(world, "n1")
    in_use = {"status": {"volumesInUse": ["kubernetes.io/csi/disks.example.com^handle"]}}
    await world.client.patch(NODES, "n1", in_use, subresource="status")
    await world.client.delete(PODS, "a", NAMESPACE)
    await asyncio.sleep(300)
    await until_attached_to(world, "n1")
    await asyncio.sleep(120)
    await until_attached_to(world)


@with_attaching
async def test_a_node_that_is_gone_has_nothing_attached(world: World) -> None:
    await world.add_nodes("n1")
    await bound_claim(world)
    await add_pod(world, "a", "n1")
    await until_attached_to(world, "n1")
    await world.client.delete(NODES, "n1")
    await until_attached_to(world)


@with_attaching
async def test_attachments_of_others_are_theirs(world: World) -> None:
    await world.add_nodes("n1")
    source = {"persistentVolumeName": "v"}
    spec = {"attacher": "disks.example.com", "nodeName": "n1", "source": source}
    await world.create(VOLUME_ATTACHMENTS, {"metadata": {"name": "by-hand"}, "spec": spec})
    await world.client.patch(NODES, "n1", {"status": {"volumesInUse": ["x"]}}, subresource="status")
    await asyncio.sleep(30)
    await until_attached_to(world, "n1")
