"""The sync of a PersistentVolumeClaim: Pending, Bound or Lost."""

from __future__ import annotations

from typing import Final

from steersman.cluster.controllers.pods_of_claims import unscheduled_pods
from steersman.cluster.controllers.volumes.claims_and_volumes import ClaimsAndVolumes
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim, PersistentVolumeClaimSpec
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.kinds.types.storage_v1 import StorageClass
from steersman.objects.labels import annotations_of
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS
from steersman.objects.volume_claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONER,
    SELECTED_NODE,
    best_volume,
    class_of,
    default_class,
    has_class,
    is_for,
    mismatch,
    phase_of,
)
from steersman.runtime import Cache, Key, Request

__all__ = ["ClaimSync"]


_OLD_PROVISIONER: Final = "volume.beta.kubernetes.io/storage-provisioner"
#: Provisioners of this kind are part of Kubernetes; there are none left.
_BUILT_IN: Final = "kubernetes.io/"


class ClaimSync:
    """Binds claims to volumes or requests provisioning."""

    def __init__(self, storage: ClaimsAndVolumes, pods: Cache) -> None:
        self._storage = storage
        self._pods = pods

    async def reconcile(self, request: Request) -> None:
        claim = self._storage.claim(request.namespace, request.name)
        if claim is None:
            return
        if BIND_COMPLETED in annotations_of(claim):
            await self._sync_bound(claim)
        elif claim["spec"].get("volumeName"):
            await self._sync_asking(claim)
        else:
            await self._sync_searching(claim)

    # --- a claim that was bound

    async def _sync_bound(self, claim: PersistentVolumeClaim) -> None:
        name = claim["spec"].get("volumeName")
        volume = self._storage.volume(name) if name else None
        if not name:
            note = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            await self._lose(claim, "ClaimLost", note)
        elif volume is None:
            note = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            await self._lose(claim, "ClaimLost", note)
        elif (volume["spec"].get("claimRef") or {}).get("uid") in (None, claim["metadata"]["uid"]):
            await self._storage.bind(volume, claim)
        else:
            note = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._lose(claim, "ClaimMisbound", note)

    async def _lose(self, claim: PersistentVolumeClaim, reason: str, note: str) -> None:
        if phase_of(claim) != "Lost":
            await self._storage.set_claim_phase(claim, "Lost")
            self._storage.recorder.event(claim, "Warning", reason, note)

    # --- a claim that asks for one volume

    async def _sync_asking(self, claim: PersistentVolumeClaim) -> None:
        storage = self._storage
        volume = storage.volume(claim["spec"]["volumeName"])
        if volume is None:
            await storage.set_claim_phase(claim, "Pending")
            return
        name = volume["metadata"]["name"]
        if volume["spec"].get("claimRef") is None:
            problem = mismatch(volume, claim)
            if not problem:
                await storage.bind(volume, claim)
                return
            note = f'Cannot bind to requested volume "{name}": {problem}'
            storage.recorder.event(claim, "Warning", "VolumeMismatch", note)
        elif is_for(volume, claim):
            await storage.bind(volume, claim)
            return
        else:
            note = f'volume "{name}" already bound to a different claim.'
            storage.recorder.event(claim, "Warning", "FailedBinding", note)
            if BOUND_BY_CONTROLLER in annotations_of(claim):
                return  # somebody took away the mark that it was bound; its phase is left for them to see
        await storage.set_claim_phase(claim, "Pending")

    # --- a claim that takes what suits it

    async def _sync_searching(self, claim: PersistentVolumeClaim) -> None:
        storage = self._storage
        storage_class = storage.storage_class(class_of(claim))
        waits = storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        volume = best_volume(claim, storage.candidates(claim), waits=waits)
        if volume is not None:
            await storage.bind(volume, claim)
            return
        if await self._take_default_class(claim):
            return
        if waits and SELECTED_NODE not in annotations_of(claim):
            self._record_waiting(claim)
        elif class_of(claim):
            await self._provision(claim, storage_class)
            return
        else:
            note = "no persistent volumes available for this claim and no storage class is set"
            storage.recorder.event(claim, "Normal", "FailedBinding", note)
        await storage.set_claim_phase(claim, "Pending")

    async def _take_default_class(self, claim: PersistentVolumeClaim) -> bool:
        """A claim that does not say what it wants gets the default class, also when that came later."""
        if has_class(claim):
            return False
        name = default_class(cached.object() for cached in self._storage.classes.cache)
        if name is None:
            return False
        spec: PersistentVolumeClaimSpec = {**claim["spec"], "storageClassName": name}
        claim = {**claim, "spec": spec}
        await self._sync_searching(await self._storage.writes.replace(PERSISTENT_VOLUME_CLAIMS, claim))
        return True

    def _record_waiting(self, claim: PersistentVolumeClaim) -> None:
        pods = unscheduled_pods(self._pods, Key.of(claim))
        reason, note = "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
        if pods:
            which = f"pods {','.join(pods)}" if len(pods) > 1 else f"pod {pods[0]}"
            reason, note = "WaitForPodScheduled", f"waiting for {which} to be scheduled"
        self._storage.recorder.event(claim, "Normal", reason, note)

    async def _provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> None:
        """Ask the provisioner of the class for a volume, by annotations on the claim."""
        recorder = self._storage.recorder
        if storage_class is None:
            note = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
            recorder.event(claim, "Warning", "ProvisioningFailed", note)
            return
        provisioner = storage_class["provisioner"]
        if provisioner.startswith(_BUILT_IN):
            note = f"no volume plugin matched name: {provisioner}"
            recorder.event(claim, "Warning", "ProvisioningFailed", note)
            return
        annotations = annotations_of(claim)
        if annotations.get(PROVISIONER) != provisioner:
            annotations = {**annotations, PROVISIONER: provisioner, _OLD_PROVISIONER: provisioner}
            metadata: ObjectMeta = {**claim["metadata"], "annotations": annotations}
            claim = await self._storage.writes.replace(
                PERSISTENT_VOLUME_CLAIMS, {**claim, "metadata": metadata}
            )
        note = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' "
            "or manually by the system administrator. If volume creation is delayed, please verify that "
            "the provisioner is running and correctly registered."
        )
        recorder.event(claim, "Normal", "ExternalProvisioning", note)
