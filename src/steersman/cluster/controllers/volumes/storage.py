"""Claims and volumes as caches show them, found by what they say of each other, and the writes that tie them
together. Shared by the syncs of claims and of volumes."""

from __future__ import annotations

from typing import Final, Literal

from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds import Object
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from steersman.objects.volume_claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    annotations_of,
    claim_reference,
    class_of,
    has_class,
    is_for,
    phase_of,
)
from steersman.runtime import Cached, Key

__all__ = ["Storage"]


_VOLUMES: Final = "claim"
_CLAIMS: Final = "unbound"
_NO_CLASS: Final = "-"


class Storage:
    """What one controller sees and writes of claims and volumes."""

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

    def claim(self, namespace: str, name: str) -> Object | None:
        return _object(self.claims.cache.get((namespace, name)))

    def volume(self, name: str) -> Object | None:
        return _object(self.volumes.cache.get(("", name)))

    def storage_class(self, name: str) -> Object | None:
        return _object(self.classes.cache.get(("", name))) if name else None

    def candidates(self, claim: Object) -> list[Object]:
        """The volumes of a claim's class that nobody has, and those reserved for it."""
        key = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        found = self.volumes.cache.by_index(_VOLUMES, key)
        found += self.volumes.cache.by_index(_VOLUMES, f"free {class_of(claim)}")
        return [cached.object() for cached in found]

    def volumes_naming(self, claim: Key) -> list[str]:
        """The names of the volumes that are a claim's, or reserved for it."""
        return [cached.key.name for cached in self.volumes.cache.by_index(_VOLUMES, str(claim))]

    def unbound_claims(self, storage_class: str) -> list[Key]:
        """The claims of a class that have no volume yet."""
        return [cached.key for cached in self.claims.cache.by_index(_CLAIMS, storage_class)]

    def claims_without_class(self) -> list[Key]:
        return self.unbound_claims(_NO_CLASS)

    # --- writing

    async def bind(self, volume: Object, claim: Object) -> None:
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

    async def _reserve(self, volume: Object, claim: Object) -> Object:
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

    async def unbind(self, volume: Object) -> None:
        """Give a volume back; one that its maker reserved for a claim stays reserved."""
        annotations = dict(annotations_of(volume))
        spec = dict(volume["spec"])
        if annotations.pop(BOUND_BY_CONTROLLER, None) is not None:
            spec.pop("claimRef", None)
        else:
            spec["claimRef"] = {k: v for k, v in spec["claimRef"].items() if k != "uid"}
        metadata = {**volume["metadata"], "annotations": annotations}
        written = await self.writes.replace(
            PERSISTENT_VOLUMES, {**volume, "metadata": metadata, "spec": spec}
        )
        await self.set_volume_phase(written, "Available")

    async def set_volume_phase(self, volume: Object, phase: str, message: str = "") -> Object:
        if phase_of(volume) == phase:
            return volume
        status = {**(volume.get("status") or {}), "phase": phase, "message": message}
        return await self.writes.replace(
            PERSISTENT_VOLUMES, {**volume, "status": status}, subresource="status"
        )

    async def fail_volume(self, volume: Object, reason: str, message: str) -> None:
        """Mark a volume as failed and say why, once."""
        if phase_of(volume) != "Failed":
            await self.set_volume_phase(volume, "Failed", message)
            self.recorder.event(volume, "Warning", reason, message)

    async def set_claim_phase(
        self, claim: Object, phase: Literal["Pending", "Bound", "Lost"], volume: Object | None = None
    ) -> None:
        """The status of a claim; with a volume, what it gives."""
        old = claim.get("status") or {}
        status = {**old, "phase": phase}
        if volume is None:
            for field in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
                status.pop(field, None)
        else:
            status["accessModes"] = volume["spec"].get("accessModes")
            if old.get("phase") != phase:
                # Later on the two may differ: a volume can be larger than what is in it.
                status["capacity"] = volume["spec"].get("capacity")
                if attributes := volume["spec"].get("volumeAttributesClassName"):
                    status["currentVolumeAttributesClassName"] = attributes
        if status != old:
            await self.writes.replace(
                PERSISTENT_VOLUME_CLAIMS, {**claim, "status": status}, subresource="status"
            )


def _object(cached: Cached | None) -> Object | None:
    return None if cached is None else cached.object()


def _claim_of(cached: Cached) -> tuple[str]:
    """Whose a volume is, or of which class if it is nobody's."""
    volume = cached.object()
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return (f"free {class_of(volume)}",)
    return (f"{reference.get('namespace')}/{reference.get('name')}",)


def _wanted_class(cached: Cached) -> tuple[str, ...]:
    claim = cached.object()
    if BIND_COMPLETED in annotations_of(claim):
        return ()
    return (class_of(claim), *(() if has_class(claim) else (_NO_CLASS,)))
