"""The ephemeral volume controller: creates the PersistentVolumeClaims of pods' generic ephemeral volumes.

A claim is named after pod and volume and is deleted with its pod (garbage collection). One that is deleted
while its pod exists is created again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from steersman.client import AlreadyExists, ApiError
from steersman.cluster.controllers.ownership import Ownership, controller_reference
from steersman.cluster.controllers.pod_control import namespace_is_terminating
from steersman.cluster.controllers.pods_of_claims import claims_of, index_by_claim, users_of
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.types.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimTemplate,
    Pod,
    Volume,
)
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from steersman.runtime import Change, Key, Request, Requeue, RetryPolicy

__all__ = ["add", "claim_for"]


_NAME: Final = "ephemeral-volume"


def claim_for(pod: Pod, volume: Volume) -> PersistentVolumeClaim:
    """The claim of an ephemeral volume of a pod."""
    template: PersistentVolumeClaimTemplate = volume["ephemeral"].get("volumeClaimTemplate") or {}
    described = template.get("metadata") or {}
    metadata: ObjectMeta = {
        "name": f"{pod['metadata']['name']}-{volume['name']}",
        "namespace": pod["metadata"]["namespace"],
        "ownerReferences": [controller_reference(pod, PODS)],
    }
    if annotations := described.get("annotations"):
        metadata["annotations"] = annotations
    if labels := described.get("labels"):
        metadata["labels"] = labels
    return {"metadata": metadata, "spec": template.get("spec") or {}}


class _EphemeralVolumes:
    """Reconciles the claims of pods with ephemeral volumes."""

    def __init__(self, setup: Setup) -> None:
        pods, claims = setup.informer(PODS), setup.informer(PERSISTENT_VOLUME_CLAIMS)
        self._pods, self._claims = pods.cache, claims.cache
        self._recorder = setup.recorder("ephemeral_volume")
        self._writes = setup.writes(_NAME, claims)
        index_by_claim(self._pods)
        controller = setup.controller(_NAME, self._reconcile, retry=RetryPolicy.client_go())
        controller.primary(pods, _is_new)
        controller.watches(claims, self._users_of_deleted)

    def _users_of_deleted(self, change: Change) -> Iterable[Key]:
        if change.new is not None:
            return ()
        return [Key(change.key.namespace, pod.metadata.name) for pod in users_of(self._pods, change.key)]

    async def _reconcile(self, request: Request) -> None:
        cached = self._pods.get(request.key)
        pod = cast("Pod", cached.object()) if cached is not None else None
        if pod is None or is_deleting(pod):
            return
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("ephemeral") is None:
                continue
            if problem := await self._ensure(pod, claim_for(pod, volume)):
                note = f"ephemeral volume {volume['name']}: {problem}"
                self._recorder.event(pod, "Warning", "FailedBinding", note)
                raise Requeue

    async def _ensure(self, pod: Pod, claim: PersistentVolumeClaim) -> str:
        """Have a claim there; why that cannot be, empty if it is."""
        key = Key.of(claim)
        cached = self._claims.get(key)
        if cached is None:
            try:
                await self._writes.create(PERSISTENT_VOLUME_CLAIMS, claim)
            except AlreadyExists:
                raise Requeue from None  # the cache has not heard of it yet
            except ApiError as error:
                return "" if namespace_is_terminating(error) else f"create PVC {key.name}: {error}"
            return ""
        owner = Ownership.read(cached).controller
        if owner is None or owner.uid != pod["metadata"]["uid"]:
            return f"PVC {key} was not created for pod {Key.of(pod)} (pod is not owner)"
        return ""


def _is_new(change: Change) -> bool:
    """A pod's volumes are what they were when it was made."""
    return change.new is not None and (change.old is None or change.resync) and bool(claims_of(change.new))


def add(setup: Setup) -> None:
    _EphemeralVolumes(setup)
