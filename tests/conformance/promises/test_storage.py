"""Promises about volumes, their classes and drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.api import ApiClient

from .keeping import NAMESPACE, Collection, Object, keep, newer, promise, promised

STORAGE = "storage.k8s.io/v1"

_LIVES = [
    pytest.param(
        "storageclasses",
        {"provisioner": "e2e-fake-provisioner"},
        id=promised("StorageClasses CSI Conformance should run through the lifecycle of a StorageClass"),
    ),
    pytest.param(
        "volumeattributesclasses",
        {"driverName": "e2e-fake-csi-driver", "parameters": {"foo": "bar"}},
        id=promised("VolumeAttributesClass should run through the lifecycle of a VolumeAttributesClass"),
    ),
    pytest.param(
        "csinodes",
        # What a typed client sends for no drivers.
        {"spec": {"drivers": None}},
        id=promised("CSINodes CSI Conformance should run through the lifecycle of a csinode"),
    ),
    pytest.param(
        "volumeattachments",
        {"spec": {"attacher": "e2e.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}},
        id=promised("VolumeAttachment Conformance should run through the lifecycle of a VolumeAttachment"),
    ),
]


@pytest.mark.parametrize(("plural", "content"), _LIVES)
def test_the_life_of_a_storage_object(plural: str, content: Mapping[str, Any]) -> None:
    async def test(client: ApiClient) -> None:
        objects = Collection(client, STORAGE, plural)
        created = await objects.create({"metadata": {"generateName": "e2e-"}, **content})
        name = created["metadata"]["name"]
        read = await objects.get(name)
        assert read == created
        patched = await objects.patch(name, {"metadata": {"labels": {name: "patched"}}}, "strategic")
        assert patched["metadata"]["labels"] == {name: "patched"}
        assert newer(patched, read)
        assert await objects.names(f"{name}=patched") == [name]
        await objects.delete(name)
        await let_go(objects, f"{name}=patched")
        assert await objects.list(f"{name}=patched") == []
        for number in range(2):
            made = await objects.create({"metadata": {"generateName": f"e2e-v{number}-"}, **content})

            def update(obj: Object) -> Object:
                obj["metadata"]["labels"] = {"e2e": "updated"}
                return obj

            updated = await objects.change(made["metadata"]["name"], update)
            assert updated["metadata"]["labels"] == {"e2e": "updated"}
        assert len(await objects.list("e2e=updated")) == 2
        await objects.delete_all("e2e=updated")
        await let_go(objects, "e2e=updated")
        assert await objects.list("e2e=updated") == []

    keep(test)


async def let_go(objects: Collection, labels: str) -> None:
    """End the protection of deleted objects, as a controller does that does not run here."""
    for obj in await objects.list(labels):
        assert "deletionTimestamp" in obj["metadata"]
        await objects.patch(obj["metadata"]["name"], {"metadata": {"finalizers": None}}, "merge")


@promise("CSIInlineVolumes should run through the lifecycle of a CSIDriver")
async def test_the_life_of_a_driver(client: ApiClient) -> None:
    drivers = Collection(client, STORAGE, "csidrivers")
    created = []
    for name, modes in {"one": ["Ephemeral"], "two": ["Persistent", "Ephemeral"]}.items():
        spec = {"volumeLifecycleModes": modes, "fsGroupPolicy": "ReadWriteOnceWithFSType"}
        wanted = {"metadata": {"name": name, "labels": {"e2e-test": "x"}}, "spec": spec}
        created.append(await drivers.create(wanted))
        assert (await drivers.refused(wanted, 409))["reason"] == "AlreadyExists"
        assert (await drivers.get(name))["metadata"]["uid"] == created[-1]["metadata"]["uid"]
    patched = await drivers.patch("two", {"metadata": {"labels": {"two": "patched"}}}, "strategic")
    assert patched["metadata"]["labels"]["two"] == "patched"
    assert newer(patched, created[1])
    patched["metadata"]["labels"]["two"] = "updated"
    assert (await drivers.replace(patched))["metadata"]["labels"]["two"] == "updated"
    assert await drivers.names("e2e-test=x") == ["one", "two"]
    await drivers.delete("one")
    assert await drivers.gone("one")
    await drivers.delete_all("two=updated")
    assert await drivers.gone("two")


@promise("VolumeAttachment Conformance should apply changes to a volumeattachment status")
async def test_the_status_of_an_attachment_is_changed(client: ApiClient) -> None:
    attachments = Collection(client, STORAGE, "volumeattachments")
    spec = {"attacher": "e2e.example.com", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    made = await attachments.create({"metadata": {"name": "va"}, "spec": spec, "status": {"attached": False}})
    assert made["metadata"]["name"] == "va"
    patched = await attachments.patch("va", {"metadata": {"labels": {"va": "patched"}}})
    assert patched["metadata"]["labels"] == {"va": "patched"}
    assert (await attachments.get("va", "status"))["status"]["attached"] is False
    assert (await attachments.patch("va", {"status": {"attached": True}}, part="status"))["status"][
        "attached"
    ]

    def detach(obj: Object) -> Object:
        return {**obj, "status": {**obj["status"], "attached": False}}

    assert (await attachments.change("va", detach, "status"))["status"]["attached"] is False
    await attachments.delete("va")
    assert await attachments.list("va=patched") == []


def _condition(kind: str, reason: str) -> Object:
    return {"type": kind, "status": "True", "reason": reason, "message": "Set from e2e test"}


@promise("PersistentVolumes CSI Conformance should apply changes to a pv/pvc status")
async def test_the_status_of_volumes_and_claims_is_changed(client: ApiClient) -> None:
    volumes = Collection(client, "v1", "persistentvolumes")
    claims = Collection(client, "v1", "persistentvolumeclaims", NAMESPACE)
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": NAMESPACE}
    volume = {
        **common,
        "capacity": {"storage": "2Gi"},
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": "e2e-driver", "volumeHandle": "e2e-status-conformance"},
    }
    await volumes.create({"metadata": {"generateName": "e2e-", "labels": {"e2e": "x"}}, "spec": volume})
    claim = {**common, "resources": {"requests": {"storage": "2Gi"}}}
    await claims.create({"metadata": {"generateName": "pvc-"}, "spec": claim})
    [volume_name], [claim_name] = await volumes.names("e2e=x"), await claims.names()
    assert (await claims.get(claim_name, "status"))["status"]["phase"] == "Pending"
    assert (await volumes.get(volume_name, "status"))["status"]["phase"] == "Pending"
    conditions = {"status": {"conditions": [_condition("StatusPatched", "E2E patchedStatus")]}}
    patched = await claims.patch(claim_name, conditions, part="status")
    assert patched["status"]["conditions"][0]["reason"] == "E2E patchedStatus"
    said = {"message": "StatusPatched", "reason": "E2E patchStatus"}
    patched = await volumes.patch(volume_name, {"status": said}, part="status")
    assert said.items() <= patched["status"].items()

    def add(obj: Object) -> Object:
        obj["status"]["conditions"].append(_condition("StatusUpdated", "E2E updateStatus"))
        return obj

    updated = await claims.change(claim_name, add, "status")
    assert [each["type"] for each in updated["status"]["conditions"]] == ["StatusPatched", "StatusUpdated"]
    said = {"message": "StatusUpdated", "reason": "E2E updateStatus"}
    updated = await volumes.change(
        volume_name, lambda obj: {**obj, "status": {**obj["status"], **said}}, "status"
    )
    assert said.items() <= updated["status"].items()
