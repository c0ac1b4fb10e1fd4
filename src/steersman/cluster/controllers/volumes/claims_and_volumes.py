"""Reads and writes of claims and volumes for the binder: indexes of the caches, and the writes that bind the
two.

Shared by `claim_sync` and `volume_sync`.
"""

from __future__ import annotations

from typing import Final, cast

from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.enums import PersistentVolumeClaimPhase, PersistentVolumePhase
from steersman.objects.kinds.types.core_v1 import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
)
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.kinds.types.storage_v1 import StorageClass
from steersman.objects.labels import annotations_of
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from steersman.objects.volume_claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    claim_reference,
    class_of,
    has_class,
    is_for,
    phase_of,
)
from steersman.runtime import Cached, Key

__all__ = ["ClaimsAndVolumes"]


_VOLUMES: Final = "claim"
_CLAIMS: Final = "unbound"
_NO_CLASS: Final = "-"


class ClaimsAndVolumes:
    """The claims and volumes that the binder reads and writes."""

    def __init__(self, setup: Setup, writer: str) -> None:
        self.claims = setup.informer(PERSISTENT_VOLUME_CLAIMS)
        self.volumes = setup.informer(PERSISTENT_VOLUMES)
        self.classes = setup.informer(STORAGE_CLASSES)
        self.client = setup.client
        self.writes = setup.writes(writer, self.claims, self.volumes)
        self.recorder = setup.recorder("persistentvolume-controller")
        for cache, name, function in (
            (self.volumes.cache, _VOLUMES, _claim_of),
            (self.claims.cache, _CLAIMS, _wanted_class),
        ):
            try:
                cache.by_index(name, "")
            except KeyError:
                cache.add_index(name, function)

    # --- finding

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        cached = self.claims.cache.get((namespace, name))
        return None if cached is None else cast("PersistentVolumeClaim", cached.object())

    def volume(self, name: str) -> PersistentVolume | None:
        cached = self.volumes.cache.get(("", name))
        return None if cached is None else cast("PersistentVolume", cached.object())

    def storage_class(self, name: str) -> StorageClass | None:
        cached = self.classes.cache.get(("", name)) if name else None
        return None if cached is None else cast("StorageClass", cached.object())

    def candidates(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """The volumes of a claim's class that nobody has, and those reserved for it."""
        key = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        found = self.volumes.cache.by_index(_VOLUMES, key)
        found += self.volumes.cache.by_index(_VOLUMES, f"free {class_of(claim)}")
        return [cast("PersistentVolume", cached.object()) for cached in found]

    def volumes_naming(self, claim: Key) -> list[str]:
        """The names of the volumes that are a claim's, or reserved for it."""
        return [cached.key.name for cached in self.volumes.cache.by_index(_VOLUMES, str(claim))]

    def unbound_claims(self, storage_class: str) -> list[Key]:
        """The claims of a class that have no volume yet."""
        return [cached.key for cached in self.claims.cache.by_index(_CLAIMS, storage_class)]

    def claims_without_class(self) -> list[Key]:
        return self.unbound_claims(_NO_CLASS)

    # --- writing

    async def bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Tie both together: the volume first, so that nobody else can have it."""
        volume = await self._reserve(volume, claim)
        volume = await self.set_volume_phase(volume, "Bound")
        annotations = dict(annotations_of(claim))
        bound = claim["spec"].get("volumeName") == volume["metadata"]["name"]
        if not bound:
            annotations.setdefault(BOUND_BY_CONTROLLER, "yes")
        annotations.setdefault(BIND_COMPLETED, "yes")
        if not bound or annotations != annotations_of(claim):
            claim = await self.writes.replace(
                PERSISTENT_VOLUME_CLAIMS,
                {
                    **claim,
                    "metadata": {**claim["metadata"], "annotations": annotations},
                    "spec": {**claim["spec"], "volumeName": volume["metadata"]["name"]},
                },
            )
        await self.set_claim_phase(claim, "Bound", volume)

    async def _reserve(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
        reference = volume["spec"].get("claimRef") or {}
        annotations = dict(annotations_of(volume))
        if not is_for(volume, claim):
            annotations.setdefault(BOUND_BY_CONTROLLER, "yes")
        elif reference.get("uid"):
            return volume
        return await self.writes.replace(
            PERSISTENT_VOLUMES,
            {
                **volume,
                "metadata": {**volume["metadata"], "annotations": annotations},
                "spec": {**volume["spec"], "claimRef": claim_reference(claim)},
            },
        )

    async def unbind(self, volume: PersistentVolume) -> None:
        """Give a volume back; one that its maker reserved for a claim stays reserved."""
        annotations = dict(annotations_of(volume))
        spec: PersistentVolumeSpec = {**volume["spec"]}
        if annotations.pop(BOUND_BY_CONTROLLER, None) is not None:
            spec.pop("claimRef", None)
        else:
            reference: ObjectReference = {**spec["claimRef"]}
            reference.pop("uid", None)
            spec["claimRef"] = reference
        metadata: ObjectMeta = {**volume["metadata"], "annotations": annotations}
        volume = {**volume, "metadata": metadata, "spec": spec}
        await self.set_volume_phase(await self.writes.replace(PERSISTENT_VOLUMES, volume), "Available")

    async def set_volume_phase(
        self, volume: PersistentVolume, phase: PersistentVolumePhase, message: str = ""
    ) -> PersistentVolume:
        if phase_of(volume) == phase:
            return volume
        old: PersistentVolumeStatus = volume.get("status") or {}
        status: PersistentVolumeStatus = {**old, "phase": phase, "message": message}
        return await self.writes.replace(
            PERSISTENT_VOLUMES, {**volume, "status": status}, subresource="status"
        )

    async def fail_volume(self, volume: PersistentVolume, reason: str, message: str) -> None:
        """Mark a volume as failed and say why, once."""
        if phase_of(volume) != "Failed":
            await self.set_volume_phase(volume, "Failed", message)
            self.recorder.event(volume, "Warning", reason, message)

    async def set_claim_phase(
        self,
        claim: PersistentVolumeClaim,
        phase: PersistentVolumeClaimPhase,
        volume: PersistentVolume | None = None,
    ) -> None:
        """The status of a claim; with a volume, what it gives."""
        old: PersistentVolumeClaimStatus = claim.get("status") or {}
        status: PersistentVolumeClaimStatus = {**old, "phase": phase}
        if volume is None:
            status.pop("accessModes", None)
            status.pop("capacity", None)
            status.pop("currentVolumeAttributesClassName", None)
        else:
            given = volume["spec"]
            status["accessModes"] = given["accessModes"]
            if old.get("phase") != phase:
                # Later on the two may differ: a volume can be larger than what is in it.
                status["capacity"] = given["capacity"]
                if attributes := volume["spec"].get("volumeAttributesClassName"):
                    status["currentVolumeAttributesClassName"] = attributes
        if status != old:
            await self.writes.replace(
                PERSISTENT_VOLUME_CLAIMS, {**claim, "status": status}, subresource="status"
            )


def _claim_of(cached: Cached) -> tuple[str]:
    """Whose a volume is, or of which class if it is nobody's."""
    volume = cast("PersistentVolume", cached.object())
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return (f"free {class_of(volume)}",)
    return (f"{reference.get('namespace')}/{reference.get('name')}",)


def _wanted_class(cached: Cached) -> tuple[str, ...]:
    claim = cast("PersistentVolumeClaim", cached.object())
    if BIND_COMPLETED in annotations_of(claim):
        return ()
    return (class_of(claim), *(() if has_class(claim) else (_NO_CLASS,)))
