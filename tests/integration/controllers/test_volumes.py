"""Claims find volumes, volumes outlive claims, with an API server in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from steersman.aio import Scope
from steersman.cluster.controllers.registry import add_controllers
from steersman.cluster.controllers.setup import Options, Setup
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
)
from steersman.runtime import Manager
from steersman.testing.waiting import eventually
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.sim.virtual_time import VirtualClock, run_virtual

Object = dict[str, Any]

with_volumes = with_workloads(
    "persistentvolume-binder", "persistentvolume-expander", "pv-protection", "pvc-protection"
)


def volume(name: str, size: str = "1Gi", **spec: Any) -> Object:
    has = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "manual",
        "hostPath": {"path": f"/nowhere/{name}"},
    }
    return {"metadata": {"name": name}, "spec": {**has, **spec}}


def claim(name: str = "c", size: str = "1Gi", **spec: Any) -> Object:
    wants = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "manual",
        "resources": {"requests": {"storage": size}},
    }
    return {"metadata": {"name": name}, "spec": {**wants, **spec}}


def storage_class(name: str, mode: str = "Immediate", **fields: Any) -> Object:
    return {
        "metadata": {"name": name},
        "provisioner": "example.com/disks",
        "volumeBindingMode": mode,
        **fields,
    }


async def until_claim(world: World, name: str = "c", phase: str = "Bound") -> Object:
    return await world.until_status(PERSISTENT_VOLUME_CLAIMS, name, phase=phase)


async def until_volume(world: World, name: str, phase: str) -> Object:
    async def holds() -> Object | None:
        found = await world.client.get(PERSISTENT_VOLUMES, name)
        return found if found["status"]["phase"] == phase else None

    found: Object = await world.until(holds)
    return found


async def notes(world: World) -> set[tuple[str, str]]:
    return set(await world.events("PersistentVolumeClaim"))


@with_volumes
async def test_a_claim_gets_the_smallest_volume_that_suits(world: World) -> None:
    for name, size in (("big", "5Gi"), ("small", "2Gi"), ("tiny", "500Mi")):
        await world.create(PERSISTENT_VOLUMES, volume(name, size))
        await until_volume(world, name, "Available")
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim())
    found = await until_claim(world)
    assert found["spec"]["volumeName"] == "small"
    assert found["status"]["capacity"] == {"storage": "2Gi"}
    assert found["status"]["accessModes"] == ["ReadWriteOnce"]
    annotations = found["metadata"]["annotations"]
    assert annotations["pv.kubernetes.io/bind-completed"] == "yes"
    assert annotations["pv.kubernetes.io/bound-by-controller"] == "yes"
    bound = await until_volume(world, "small", "Bound")
    assert bound["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
    assert bound["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    await world.quiet()


@with_volumes
async def test_claims_wait_for_volumes_and_each_gets_its_own(world: World) -> None:
    for number in range(5):
        await world.create(PERSISTENT_VOLUME_CLAIMS, claim(f"c{number}"))
    await asyncio.sleep(10)
    assert ("ProvisioningFailed", 'storageclass.storage.k8s.io "manual" not found') in await notes(world)
    for number in range(5):
        await world.create(PERSISTENT_VOLUMES, volume(f"v{number}"))
    names = {(await until_claim(world, f"c{number}"))["spec"]["volumeName"] for number in range(5)}
    assert names == {f"v{number}" for number in range(5)}
    await world.quiet()


@with_volumes
async def test_a_volume_to_be_deleted_goes_if_somebody_can_delete_it(world: World) -> None:
    sources: dict[str, Object] = {
        "files": {"nfs": {"server": "s", "path": "/"}},
        "temporary": {"hostPath": {"path": "/tmp/here"}},
    }
    for name, source in sources.items():
        made = volume(name, storageClassName=name, persistentVolumeReclaimPolicy="Delete")
        del made["spec"]["hostPath"]
        made["spec"] |= source
        await world.create(PERSISTENT_VOLUMES, made)
        await world.create(PERSISTENT_VOLUME_CLAIMS, claim(name, storageClassName=name))
        await until_claim(world, name)
        await world.client.delete(PERSISTENT_VOLUME_CLAIMS, name, NAMESPACE)
    failed = await until_volume(world, "files", "Failed")
    assert failed["status"]["message"] == (
        'error getting deleter volume plugin for volume "files": no deletable volume plugin matched'
    )

    async def left() -> bool:
        return await world.names(PERSISTENT_VOLUMES) == ["files"]

    await world.until(left)


@with_volumes
async def test_a_released_volume_is_kept_and_an_abandoned_one_fails(world: World) -> None:
    await world.create(PERSISTENT_VOLUMES, volume("kept"))
    await world.create(
        PERSISTENT_VOLUMES, volume("left", storageClassName="x", persistentVolumeReclaimPolicy="Delete")
    )
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim("a"))
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim("b", storageClassName="x"))
    for name in ("a", "b"):
        await until_claim(world, name)
        await world.client.delete(PERSISTENT_VOLUME_CLAIMS, name, NAMESPACE)
    await until_volume(world, "kept", "Released")
    failed = await until_volume(world, "left", "Failed")
    assert failed["status"]["message"] == (
        "host_path deleter only supports /tmp/.+ but received provided /nowhere/left"
    )
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim("a"))
    await asyncio.sleep(10)
    assert (await world.get(PERSISTENT_VOLUME_CLAIMS, "a"))["status"]["phase"] == "Pending"
    # Given back by hand, it is free for the next one.
    await world.client.patch(PERSISTENT_VOLUMES, "kept", {"spec": {"claimRef": None}})
    await until_claim(world, "a")


@with_volumes
async def test_a_claim_whose_volume_is_gone_is_lost(world: World) -> None:
    await world.create(PERSISTENT_VOLUMES, volume("v"))
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim())
    await until_claim(world)
    await world.client.delete(PERSISTENT_VOLUMES, "v")
    # Its protection lasts as long as the claim; whoever takes it away loses what was in it.
    await world.client.patch(PERSISTENT_VOLUMES, "v", {"metadata": {"finalizers": None}})
    found = await until_claim(world, phase="Lost")
    assert "capacity" not in found["status"]
    lost = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    assert ("ClaimLost", lost) in await notes(world)


@with_volumes
async def test_claims_and_volumes_may_name_each_other(world: World) -> None:
    reference = {"namespace": NAMESPACE, "name": "chosen"}
    await world.create(PERSISTENT_VOLUMES, volume("reserved", "9Gi", claimRef=reference))
    await world.create(PERSISTENT_VOLUMES, volume("asked-for", "9Gi"))
    await world.create(PERSISTENT_VOLUMES, volume("small"))
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim("asking", volumeName="asked-for"))
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim("chosen"))
    assert (await until_claim(world, "chosen"))["spec"]["volumeName"] == "reserved"
    asking = await until_claim(world, "asking")
    assert "pv.kubernetes.io/bound-by-controller" not in asking["metadata"]["annotations"]
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim("late", volumeName="asked-for"))
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim("large", "2Gi", volumeName="small"))
    await asyncio.sleep(5)
    told = await notes(world)
    assert ("FailedBinding", 'volume "asked-for" already bound to a different claim.') in told
    problem = 'Cannot bind to requested volume "small": requested PV is too small'
    assert ("VolumeMismatch", problem) in told


@with_volumes
async def test_a_claim_that_waits_for_its_first_pod_is_left_to_the_scheduler(world: World) -> None:
    await world.create(STORAGE_CLASSES, storage_class("late", "WaitForFirstConsumer"))
    world.nodes.bound = lambda pod: False
    await world.create(PERSISTENT_VOLUMES, volume("v", storageClassName="late"))
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim(storageClassName="late"))
    await asyncio.sleep(5)
    first = "waiting for first consumer to be created before binding"
    assert ("WaitForFirstConsumer", first) in await notes(world)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
    await world.create(PODS, {"metadata": {"name": "user"}, "spec": spec})
    await world.client.patch(PERSISTENT_VOLUME_CLAIMS, "c", {"metadata": {"labels": {"k": "v"}}}, NAMESPACE)
    await asyncio.sleep(1)
    assert ("WaitForPodScheduled", "waiting for pod user to be scheduled") in await notes(world)
    assert (await world.get(PERSISTENT_VOLUME_CLAIMS, "c"))["status"]["phase"] == "Pending"
    # The scheduler chooses: it reserves a volume, and the rest is done here.
    made = await world.get(PERSISTENT_VOLUME_CLAIMS, "c")
    reference = {"namespace": NAMESPACE, "name": "c", "uid": made["metadata"]["uid"]}
    await world.client.patch(PERSISTENT_VOLUMES, "v", {"spec": {"claimRef": reference}})
    await until_claim(world)


@with_volumes
async def test_a_provisioner_is_asked_when_the_scheduler_has_chosen(world: World) -> None:
    await world.create(STORAGE_CLASSES, storage_class("late", "WaitForFirstConsumer"))
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim(storageClassName="late"))
    selected = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}}
    await world.client.patch(PERSISTENT_VOLUME_CLAIMS, "c", selected, NAMESPACE)

    async def asked() -> bool:
        annotations = (await world.get(PERSISTENT_VOLUME_CLAIMS, "c"))["metadata"]["annotations"]
        return annotations.get("volume.kubernetes.io/storage-provisioner") == "example.com/disks"

    await world.until(asked)
    assert "ExternalProvisioning" in {reason for reason, _ in await notes(world)}


@with_volumes
async def test_claims_of_no_class_get_the_default_class_also_later(world: World) -> None:
    wanted = claim()
    del wanted["spec"]["storageClassName"]
    await world.create(PERSISTENT_VOLUME_CLAIMS, wanted)
    await asyncio.sleep(5)
    nothing = "no persistent volumes available for this claim and no storage class is set"
    assert ("FailedBinding", nothing) in await notes(world)
    default = storage_class("usual")
    default["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    await world.create(STORAGE_CLASSES, default)

    async def classed() -> bool:
        return (await world.get(PERSISTENT_VOLUME_CLAIMS, "c"))["spec"].get("storageClassName") == "usual"

    await world.until(classed)


@with_volumes
async def test_somebody_outside_has_to_make_volumes_larger(world: World) -> None:
    await world.create(STORAGE_CLASSES, storage_class("manual", allowVolumeExpansion=True))
    await world.create(
        PERSISTENT_VOLUMES, volume("v", csi={"driver": "d", "volumeHandle": "h"}, hostPath=None)
    )
    await world.create(PERSISTENT_VOLUME_CLAIMS, claim())
    await until_claim(world)
    await world.patch(PERSISTENT_VOLUME_CLAIMS, "c", resources={"requests": {"storage": "2Gi"}})
    await asyncio.sleep(1)
    waiting = "waiting for an external controller to expand this PVC"
    assert ("ExternalExpanding", waiting) in await notes(world)


def test_directories_of_this_machine_are_volumes(tmp_path: Path) -> None:
    run_virtual(_local_path(tmp_path))


async def _local_path(root: Path) -> None:
    async with LocalCluster(ClusterConfig(controllers=())) as cluster, Scope() as scope:
        client = cluster.client()
        manager = Manager(cluster.client(), clock=VirtualClock(), address=None)
        names = ("persistentvolume-binder", "local-path-provisioner", "pv-protection", "pvc-protection")
        add_controllers(Setup(manager, Options(volumes=str(root))), names)
        running = scope.start(manager.run())
        await eventually(lambda: client.find(STORAGE_CLASSES, "local-path"))
        node = {"metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "host-1"}}}
        await client.create(node, kind=NODES)
        wanted = claim(storageClassName="local-path")
        wanted["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "node-1"}
        await client.create(wanted, kind=PERSISTENT_VOLUME_CLAIMS)

        async def bound(size: str) -> Object | None:
            found = await client.get(PERSISTENT_VOLUME_CLAIMS, "c", NAMESPACE)
            has = (found["status"].get("capacity") or {}).get("storage")
            return found if found["status"]["phase"] == "Bound" and has == size else None

        found = await eventually(lambda: bound("1Gi"))
        name = found["spec"]["volumeName"]
        assert name == f"pvc-{found['metadata']['uid']}"
        assert [path.name for path in root.iterdir()] == [name]
        # Whatever this process' umask is: pods write to it that run as anybody.
        assert (root / name).stat().st_mode & 0o7777 == 0o777
        made = await client.get(PERSISTENT_VOLUMES, name)
        assert made["spec"]["hostPath"]["path"] == str(root / name)
        [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == ["host-1"]
        more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        await client.patch(PERSISTENT_VOLUME_CLAIMS, "c", more, NAMESPACE)
        await eventually(lambda: bound("2Gi"))
        (root / name / "data").write_text("x")
        await client.delete(PERSISTENT_VOLUME_CLAIMS, "c", NAMESPACE)

        async def gone() -> bool:
            return await client.find(PERSISTENT_VOLUMES, name) is None and list(root.iterdir()) == []

        await eventually(gone)
        running.cancel()
