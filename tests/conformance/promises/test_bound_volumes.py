"""Promises about volumes that are bound to claims."""

from __future__ import annotations

from functools import partial

from tests.support.api import ApiClient

from .keeping import NAMESPACE, Collection, Object, newer, until
from .living import living_promise

_volumes = partial(Collection, version="v1", plural="persistentvolumes")
_claims = partial(Collection, version="v1", plural="persistentvolumeclaims", namespace=NAMESPACE)

LABEL = "e2e-pv-pool"


async def _made(client: ApiClient, name: str) -> tuple[Object, Object]:
    """A volume and a claim, as far as the public test waits for them."""
    volume = {
        "metadata": {"name": f"{NAMESPACE}-{name}", "labels": {LABEL: NAMESPACE}},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": NAMESPACE,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "inline-driver", "volumeHandle": "e2e-conformance"},
        },
    }
    claim = {
        "metadata": {"name": f"pvc-{name}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": NAMESPACE,
            "resources": {"requests": {"storage": "2Gi"}},
        },
    }
    made = await _volumes(client).create(volume), await _claims(client).create(claim)

    async def bound() -> bool:
        phases = [
            (await _volumes(client).get(made[0]["metadata"]["name"]))["status"]["phase"],
            (await _claims(client).get(made[1]["metadata"]["name"]))["status"]["phase"],
        ]
        return phases == ["Bound", "Bound"]

    await until(bound)
    return made


@living_promise(
    "PersistentVolumes CSI Conformance should run through the lifecycle of a PV and a PVC",
    "persistentvolume-binder",
    "pv-protection",
    "pvc-protection",
)
async def test_the_life_of_a_volume_and_its_claim(client: ApiClient) -> None:
    volumes, claims = _volumes(client), _claims(client)
    await _made(client, "first")
    for collection, listed in (
        (volumes, await volumes.list(f"{LABEL}={NAMESPACE}")),
        (claims, await claims.list()),
    ):
        [before] = listed
        name = before["metadata"]["name"]
        after = await collection.patch(name, {"metadata": {"labels": {name: "patched"}}}, "strategic")
        assert after["metadata"]["labels"][name] == "patched"
        assert newer(after, before)
        assert (await collection.get(name))["metadata"]["uid"] == before["metadata"]["uid"]
    await claims.delete("pvc-first")
    await until(lambda: claims.gone("pvc-first"))
    await volumes.delete(f"{NAMESPACE}-first")
    await until(lambda: volumes.gone(f"{NAMESPACE}-first"))
    volume, claim = await _made(client, "second")
    for collection, made in ((volumes, volume), (claims, claim)):
        name = made["metadata"]["name"]

        def updated(obj: Object, name: str = name) -> Object:
            obj["metadata"]["labels"] = {**(obj["metadata"].get("labels") or {}), name: "updated"}
            return obj

        changed = await collection.change(name, updated)
        assert changed["metadata"]["labels"][name] == "updated"
        assert len(await collection.everywhere.list(f"{name}=updated")) == 1
    for collection, made in ((claims, claim), (volumes, volume)):
        name = made["metadata"]["name"]
        await collection.delete_all(f"{name}=updated")
        await until(lambda collection=collection, name=name: collection.gone(name))
