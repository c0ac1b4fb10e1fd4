"""Creating the claims of StatefulSets' pods, and setting their owner references by the retention policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from steersman.client import ClientError
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.statefulset import identity
from steersman.cluster.controllers.statefulset.volume_claims import (
    belongs_to_earlier_pod,
    has_other_controller,
    new_claim,
    right_owners,
)
from steersman.objects.kinds.types.apps_v1 import StatefulSet
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim, Pod
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS
from steersman.runtime import Cache, Recorder, Writes

__all__ = ["ClaimBeingDeleted", "ClaimControl"]


class ClaimBeingDeleted(ClientError):
    """A pod cannot be created since its claim is being deleted."""


class ClaimControl:
    """Reads and writes the claims of all StatefulSets."""

    def __init__(self, writes: Writes, recorder: Recorder, cache: Cache) -> None:
        self._writes = writes
        self._recorder = recorder
        self._cache = cache

    def of(self, stateful_set: StatefulSet) -> ClaimsOfSet:
        return ClaimsOfSet(self._cache, stateful_set)

    async def create_missing(self, stateful_set: StatefulSet, ordinal: int) -> None:
        """Make the claims that a pod lacks. Raises `ClaimBeingDeleted`."""
        pod, name = identity.pod_name(stateful_set, ordinal), stateful_set["metadata"]["name"]
        for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
            claim = new_claim(stateful_set, template, ordinal)
            metadata = claim["metadata"]
            there = self._cache.get((metadata["namespace"], metadata["name"]))
            if there is not None:
                if "deletionTimestamp" in there.metadata():
                    raise ClaimBeingDeleted(f"pvc {metadata['name']} is being deleted")
                continue
            what = f"Create Claim {metadata['name']}"
            try:
                await self._writes.create(PERSISTENT_VOLUME_CLAIMS, claim)
            except ClientError as error:
                note = f"{what} for Pod {pod} in StatefulSet {name} failed error: {error}"
                self._recorder.event(stateful_set, "Warning", "FailedCreate", note)
                raise
            note = f"{what} Pod {pod} in StatefulSet {name} success"
            self._recorder.event(stateful_set, "Normal", "SuccessfulCreate", note)

    async def retain(self, stateful_set: StatefulSet, pod: Pod) -> None:
        """Give the pod's claims the owners that the retention policy wants."""
        for claim in self.of(stateful_set).claims(identity.ordinal_of(pod["metadata"]["name"])):
            name = claim["metadata"]["name"]
            if has_other_controller(claim, stateful_set, pod):
                note = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging "
                    "controller, the retention policy is ignored for this claim"
                )
                self._recorder.event(stateful_set, "Warning", "ConflictingController", note)
            owners = right_owners(claim, stateful_set, pod)
            if owners is not None:
                metadata = {**claim["metadata"], "ownerReferences": owners}
                await self._writes.replace(PERSISTENT_VOLUME_CLAIMS, {**claim, "metadata": metadata})


class ClaimsOfSet:
    """The `ClaimState` of one StatefulSet for `plan`."""

    def __init__(self, cache: Cache, stateful_set: StatefulSet) -> None:
        self._cache = cache
        self._set = stateful_set
        self._templates = stateful_set["spec"].get("volumeClaimTemplates") or ()

    def claims(self, ordinal: int) -> Iterator[PersistentVolumeClaim]:
        """Those of a pod's claims that are there."""
        namespace = self._set["metadata"]["namespace"]
        for template in self._templates:
            cached = self._cache.get((namespace, identity.claim_name(self._set, template, ordinal)))
            if cached is not None:
                yield cast("PersistentVolumeClaim", cached.object())

    def is_stale(self, ordinal: int) -> bool:
        policy = self._set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        if policy.get("whenScaled") != "Delete":
            return False
        pod: Pod = {"metadata": {"name": identity.pod_name(self._set, ordinal)}}
        return any(belongs_to_earlier_pod(claim, pod) for claim in self.claims(ordinal))

    def is_missing(self, ordinal: int) -> bool:
        return sum(1 for _ in self.claims(ordinal)) < len(self._templates)

    def is_right(self, pod: PodState) -> bool:
        return identity.fits(self._set, pod)

    def is_retained(self, pod: PodState) -> bool:
        owner: Pod = {"metadata": {"name": pod.name, "uid": pod.uid}}
        claims = self.claims(identity.ordinal_of(pod.name))
        return all(right_owners(claim, self._set, owner) is None for claim in claims)
