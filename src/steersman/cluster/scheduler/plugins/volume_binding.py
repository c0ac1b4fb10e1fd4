"""The VolumeBinding plugin: checks that a pod's claims are bound, or can be bound or provisioned, for the
node.

Claims with volumeBindingMode WaitForFirstConsumer are bound here: a free volume that the node can use is
reserved, or the node is written on the claim for its provisioner. PreBind waits until all claims are bound.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final, cast

from steersman.aio import Scope, wait_for_tasks
from steersman.cluster.scheduler.errors import VolumesNotBound
from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import EventKind, Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import Resources
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.plugins.storage import (
    CSI_CAPACITIES,
    CSI_DRIVERS,
    allows_node,
    find_volume,
    is_claimed,
    requested_bytes,
)
from steersman.objects.kinds.types.core_v1 import (
    PersistentVolume,
    PersistentVolumeClaim,
    TopologySelectorTerm,
)
from steersman.objects.kinds.types.storage_v1 import StorageClass
from steersman.objects.labels import annotations_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.ownership import is_controlled_by
from steersman.objects.quantities import Quantity
from steersman.objects.resources import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
)
from steersman.objects.selectors import LabelSelector
from steersman.objects.volume_claims import SELECTED_NODE, claim_reference, class_of, is_bound, is_for
from steersman.runtime import Change, Key
from steersman.runtime.cached import number

__all__ = ["VolumeBinding"]

_NAME: Final = "VolumeBinding"
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
_TIMEOUT_S: Final = 600.0

_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
_NONE_FREE: Final = "node(s) didn't find available persistent volumes to bind"
_NO_SPACE: Final = "node(s) did not have enough free storage"
_GONE: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@dataclass(slots=True)
class _Bindings:
    """The pending work on one node: claims with the volumes to bind them to, and claims to provision."""

    volumes: list[tuple[PersistentVolumeClaim, PersistentVolume]] = field(default_factory=list)
    provisions: list[PersistentVolumeClaim] = field(default_factory=list)


@dataclass(slots=True)
class _Note:
    """The PreFilter state: the pod's claims by how they are bound."""

    bound: list[PersistentVolumeClaim]
    waiting: list[PersistentVolumeClaim]
    by_node: dict[str, _Bindings] = field(default_factory=dict)


class VolumeBinding:
    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.resources: Resources = {
            PERSISTENT_VOLUME_CLAIMS: self._on_change,
            PERSISTENT_VOLUMES: self._on_change,
            STORAGE_CLASSES: None,
            CSI_DRIVERS: None,
            CSI_CAPACITIES: None,
        }
        #: What pods on their way have been given and caches do not show yet: volumes, and nodes of claims.
        self._taken: dict[str, Key] = {}
        self._selected: dict[Key, str] = {}
        self._changed = asyncio.Event()

    def _on_change(self, change: Change) -> None:
        self._changed.set()

    # --- filtering

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | Skip | None:
        if not pod.volumes.claims:
            return SKIP
        note = _Note([], [])
        immediate = False
        for claim in pod.volumes.claims:
            found = self._claim(pod, claim.of(pod.name), ephemeral=claim.ephemeral)
            if isinstance(found, str):
                return Refusal(self.name, (found,), resolvable=False)
            if is_bound(found):
                note.bound.append(found)
            elif self._waits(found) and not found["spec"].get("volumeName"):
                note.waiting.append(found)
            else:
                immediate = True
        if immediate:
            return Refusal(self.name, ("pod has unbound immediate PersistentVolumeClaims",), resolvable=False)
        cycle.write(self.name, note)
        return None

    def _claim(self, pod: PodInfo, name: str, *, ephemeral: bool) -> PersistentVolumeClaim | str:
        """The claim, or what is wrong with it."""
        claim = cast(
            "PersistentVolumeClaim | None", self._handle.find(PERSISTENT_VOLUME_CLAIMS, name, pod.namespace)
        )
        if claim is None:
            if ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return f'persistentvolumeclaim "{name}" not found'
        if (claim.get("status") or {}).get("phase") == "Lost":
            volume = claim["spec"].get("volumeName") or ""
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
        if is_deleting(claim):
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and not is_controlled_by(claim, pod.uid):
            return f"PVC {pod.namespace}/{name} was not created for pod {pod.key} (pod is not owner)"
        return claim

    def _waits(self, claim: PersistentVolumeClaim) -> bool:
        storage_class = cast("StorageClass | None", self._handle.find(STORAGE_CLASSES, class_of(claim)))
        return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        note = cycle.read(self.name, _Note)
        reasons = []
        volumes = [
            cast(
                "PersistentVolume | None", self._handle.find(PERSISTENT_VOLUMES, claim["spec"]["volumeName"])
            )
            for claim in note.bound
        ]
        if any(volume is not None and not allows_node(volume, node.labels) for volume in volumes):
            reasons.append(_CONFLICT)
        bindings = _Bindings()
        if note.waiting:
            reasons += self._find(note.waiting, node, bindings)
        if any(volume is None for volume in volumes):
            reasons.append(_GONE)
        if reasons:
            return Refusal(self.name, tuple(reasons), resolvable=False)
        note.by_node[node.name] = bindings
        return None

    def _find(self, claims: list[PersistentVolumeClaim], node: NodeInfo, bindings: _Bindings) -> list[str]:
        """Find volumes for claims, or see whether they can be made for the node; what is in the way."""
        provisions = []
        volumes = [
            cast("PersistentVolume", cached.object()) for cached in self._handle.cache(PERSISTENT_VOLUMES)
        ]
        for claim in sorted(claims, key=lambda each: requested_bytes(each) or 0):
            selected = self._selected.get(Key.of(claim)) or annotations_of(claim).get(SELECTED_NODE)
            if selected:
                if selected != node.name:
                    return [_NONE_FREE]
                provisions.append(claim)
                continue
            key = Key.of(claim)
            taken = [name for name, owner in self._taken.items() if owner != key]
            taken += [volume["metadata"]["name"] for _, volume in bindings.volumes]
            found = find_volume(claim, volumes, node.labels, taken)
            if found is None:
                provisions.append(claim)
            else:
                bindings.volumes.append((claim, found))
        for claim in provisions:
            reason = self._cannot_provision(claim, node)
            if reason:
                return [reason]
        bindings.provisions = provisions
        return []

    def _cannot_provision(self, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
        storage_class = cast("StorageClass | None", self._handle.find(STORAGE_CLASSES, class_of(claim)))
        if storage_class is None or storage_class.get("provisioner") in (None, "", _NO_PROVISIONER):
            return _NONE_FREE
        terms = storage_class.get("allowedTopologies") or ()
        if terms and not any(_is_in(term, node) for term in terms):
            return _NONE_FREE
        return "" if self._has_space(claim, storage_class, node) else _NO_SPACE

    def _has_space(self, claim: PersistentVolumeClaim, storage_class: StorageClass, node: NodeInfo) -> bool:
        """Whether a driver that reports its capacity has enough for the node."""
        wanted = requested_bytes(claim)
        driver = self._handle.find(CSI_DRIVERS, storage_class["provisioner"])
        if wanted is None or driver is None or not (driver.get("spec") or {}).get("storageCapacity"):
            return True
        for cached in self._handle.cache(CSI_CAPACITIES):
            capacity = cached.object()
            topology = capacity.get("nodeTopology")
            limit = capacity.get("maximumVolumeSize") or capacity.get("capacity")
            if (
                capacity.get("storageClassName") == storage_class["metadata"]["name"]
                and topology is not None
                and limit is not None
                and Quantity.parse(limit).value >= wanted
                and LabelSelector.from_object(topology).matches(node.labels)
            ):
                return True
        return False

    # --- binding

    def reserve(self, cycle: CycleState, pod: PodInfo, node: str) -> Refusal | None:
        for claim, volume in self._bindings(cycle, node).volumes:
            self._taken[volume["metadata"]["name"]] = Key.of(claim)
        for claim in self._bindings(cycle, node).provisions:
            self._selected[Key.of(claim)] = node
        return None

    def unreserve(self, cycle: CycleState, pod: PodInfo, node: str) -> None:
        for _, volume in self._bindings(cycle, node).volumes:
            self._taken.pop(volume["metadata"]["name"], None)
        for claim in self._bindings(cycle, node).provisions:
            self._selected.pop(Key.of(claim), None)

    def _bindings(self, cycle: CycleState, node: str) -> _Bindings:
        note = cycle.find(self.name, _Note)
        return _Bindings() if note is None else note.by_node.get(node, _Bindings())

    def will_pre_bind(self, cycle: CycleState, pod: PodInfo, node: str) -> bool:
        bindings = self._bindings(cycle, node)
        return bool(bindings.volumes or bindings.provisions)

    async def pre_bind(self, cycle: CycleState, pod: PodInfo, node: str) -> None:
        """Raises `ClientError` and `VolumesNotBound`."""
        if not self.will_pre_bind(cycle, pod, node):
            return
        bindings = self._bindings(cycle, node)
        client = self._handle.client
        for claim, volume in bindings.volumes:
            if not is_for(volume, claim) or not volume["spec"]["claimRef"].get("uid"):
                await client.replace(_bound(volume, claim), kind=PERSISTENT_VOLUMES)
        for claim in bindings.provisions:
            annotations = {**annotations_of(claim), SELECTED_NODE: node}
            metadata = {**claim["metadata"], "annotations": annotations}
            await client.replace({**claim, "metadata": metadata}, kind=PERSISTENT_VOLUME_CLAIMS)
        claims = [claim for claim, _ in bindings.volumes] + bindings.provisions
        async with Scope() as scope:
            waiting = scope.start(self._bound(pod, claims, node, bindings))
            if await wait_for_tasks([waiting], self._handle.clock, _TIMEOUT_S):
                raise VolumesNotBound("binding volumes: context deadline exceeded")
        self.unreserve(cycle, pod, node)

    async def _bound(
        self, pod: PodInfo, claims: list[PersistentVolumeClaim], node: str, bindings: _Bindings
    ) -> None:
        """Wait until all claims are bound; whoever binds them may also give up on the node."""
        provisioned = {
            Key.of(claim): number(claim["metadata"]["resourceVersion"]) for claim in bindings.provisions
        }
        pending = [Key.of(claim) for claim in claims]
        while pending:
            self._changed.clear()
            for key in tuple(pending):
                claim = cast(
                    "PersistentVolumeClaim | None",
                    self._handle.find(PERSISTENT_VOLUME_CLAIMS, key.name, key.namespace),
                )
                if claim is None:
                    raise VolumesNotBound(
                        f'failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "{key}"'
                    )
                seen = number(claim["metadata"]["resourceVersion"])
                is_new = key in provisioned and seen > provisioned[key]
                if is_new and annotations_of(claim).get(SELECTED_NODE) != node:
                    raise VolumesNotBound(f'provisioning failed for PVC "{key.name}"')
                if is_bound(claim):
                    pending.remove(key)
            if pending:
                await self._changed.wait()

    @property
    def hints(self) -> Hints:
        return {
            EventKind.STORAGE_CLASS: None,
            EventKind.CLAIM: is_claimed,
            EventKind.VOLUME: None,
            EventKind.NODE_ADDED: None,
            EventKind.NODE_LABELS: None,
            EventKind.CSI_DRIVER: None,
            EventKind.CSI_CAPACITY: None,
        }


def _is_in(term: TopologySelectorTerm, node: NodeInfo) -> bool:
    return all(
        node.labels.get(each["key"]) in each["values"] for each in term.get("matchLabelExpressions") or ()
    )


def _bound(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume, reserved for the claim."""
    annotations = dict(annotations_of(volume))
    if not is_for(volume, claim):
        annotations[_BOUND_BY_CONTROLLER] = "yes"
    return {
        **volume,
        "metadata": {**volume["metadata"], "annotations": annotations},
        "spec": {**volume["spec"], "claimRef": claim_reference(claim)},
    }
