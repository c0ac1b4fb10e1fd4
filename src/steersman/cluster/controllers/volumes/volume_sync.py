"""The sync of a PersistentVolume: Available, Bound, Released or Failed, and its reclaim policy."""

from __future__ import annotations

import re
from typing import cast

from steersman.cluster.controllers.volumes.claims_and_volumes import ClaimsAndVolumes
from steersman.objects.kinds.types.core_v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from steersman.objects.labels import annotations_of
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from steersman.objects.volume_claims import PROVISIONED_BY, phase_of, volume_mode
from steersman.runtime import Key, Request

__all__ = ["VolumeSync"]


_temporary = re.compile("/tmp/.+").search  # noqa: S108 - Kubernetes' words


class VolumeSync:
    """Updates the phase of volumes and reclaims released ones."""

    def __init__(self, storage: ClaimsAndVolumes) -> None:
        self._storage = storage

    async def reconcile(self, request: Request) -> None:
        volume = self._storage.volume(request.name)
        if volume is None:
            return
        reference = volume["spec"].get("claimRef")
        if reference is None or not reference.get("uid"):
            await self._storage.set_volume_phase(volume, "Available")
            return
        claim = await self._claim_of(volume, reference)
        name = volume["metadata"]["name"]
        if claim is None:
            await self._release(volume)
        elif not claim["spec"].get("volumeName"):
            self._record_mismatch(volume, claim)  # its claim is looked at next
        elif claim["spec"]["volumeName"] == name:
            await self._storage.set_volume_phase(volume, "Bound")
        elif PROVISIONED_BY in annotations_of(volume) and _policy(volume) == "Delete":
            await self._release(volume)  # made for a claim that found another one
        else:
            await self._storage.unbind(volume)

    async def _claim_of(
        self, volume: PersistentVolume, reference: ObjectReference
    ) -> PersistentVolumeClaim | None:
        """The claim that a volume is bound to, if it is still there.

        Before a volume is given up the API itself is asked: the watch may be behind.
        """
        claim = self._storage.claim(reference["namespace"], reference["name"])
        given_up = phase_of(volume) in ("Released", "Failed")
        if (claim is None and not given_up) or (
            claim is not None and claim["metadata"]["uid"] != reference["uid"]
        ):
            found = await self._storage.client.find(
                PERSISTENT_VOLUME_CLAIMS, reference["name"], reference["namespace"]
            )
            claim = cast("PersistentVolumeClaim | None", found)
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            return None
        return claim

    def _record_mismatch(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        if volume_mode(claim) == volume_mode(volume):
            return
        event = self._storage.recorder.event
        name, claim_name = volume["metadata"]["name"], claim["metadata"]["name"]
        note = (
            f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim_name}" '
            "due to incompatible volumeMode."
        )
        event(volume, "Warning", "VolumeMismatch", note)
        note = (
            f'Cannot bind PersistentVolume "{name}" to requested PersistentVolumeClaim '
            "due to incompatible volumeMode."
        )
        event(claim, "Warning", "VolumeMismatch", note)

    async def _release(self, volume: PersistentVolume) -> None:
        storage = self._storage
        if phase_of(volume) not in ("Released", "Failed"):
            volume = await storage.set_volume_phase(volume, "Released")
        policy = _policy(volume)
        if policy == "Retain":
            return
        if policy == "Recycle":
            note = "No recycler plugin found for the volume!"
            await storage.fail_volume(volume, "VolumeFailedRecycle", note)
        elif policy != "Delete":
            note = "Volume has unrecognized PersistentVolumeReclaimPolicy"
            await storage.fail_volume(volume, "VolumeUnknownReclaimPolicy", note)
        elif not annotations_of(volume).get(PROVISIONED_BY) and "csi" not in volume["spec"]:
            # Whoever made a volume deletes it; nobody made this one.
            await self._delete(volume)

    async def _delete(self, volume: PersistentVolume) -> None:
        """A volume of this machine goes if it is a temporary one, as in Kubernetes; its files stay."""
        metadata = volume["metadata"]
        path = (volume["spec"].get("hostPath") or {}).get("path")
        if path is None:
            note = (
                f'error getting deleter volume plugin for volume "{metadata["name"]}": '
                "no deletable volume plugin matched"
            )
        elif _temporary(path):
            await self._storage.writes.delete(
                PERSISTENT_VOLUMES, Key.of(volume), metadata["uid"], propagation=None
            )
            return
        else:
            note = f"host_path deleter only supports /tmp/.+ but received provided {path}"
        await self._storage.fail_volume(volume, "VolumeFailedDelete", note)


def _policy(volume: PersistentVolume) -> str:
    return volume["spec"].get("persistentVolumeReclaimPolicy") or "Retain"
