"""The VolumeRestrictions plugin: rejects nodes where an exclusive disk is in use, and pods that share a
ReadWriteOncePod claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState, StateData
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import Resources
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.plugins.storage import is_claimed
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS

__all__ = ["VolumeRestrictions"]

_NAME: Final = "VolumeRestrictions"
_DISK: Final = Refusal(_NAME, ("node(s) had no available disk",))
_IN_USE: Final = Refusal(
    _NAME,
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod",
    ),
)
#: The field that names a disk; where it is no single field, see `_same`.
_IDENTITY: Final = {"gcePersistentDisk": "pdName", "awsElasticBlockStore": "volumeID", "iscsi": "iqn"}


@dataclass(slots=True)
class _Note(StateData):
    """The PreFilter state: other users of ReadWriteOncePod claims."""

    exclusive: frozenset[str]
    #: How many pods use the exclusive claims.
    users: int

    def copy(self) -> _Note:
        return _Note(self.exclusive, self.users)


class VolumeRestrictions:
    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.resources: Resources = {PERSISTENT_VOLUME_CLAIMS: None}

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | Skip | None:
        if not pod.volumes.claims and not pod.volumes.disks:
            return SKIP
        exclusive = set()
        for claim in pod.volumes.claims:
            if claim.ephemeral:
                continue
            found = self._handle.find(PERSISTENT_VOLUME_CLAIMS, claim.name, pod.namespace)
            if found is None:
                text = f'persistentvolumeclaim "{claim.name}" not found'
                return Refusal(self.name, (text,), resolvable=False)
            if "ReadWriteOncePod" in (found["spec"].get("accessModes") or ()):
                exclusive.add(claim.name)
        users = self._users(pod, frozenset(exclusive)) if exclusive else 0
        if not users and not pod.volumes.disks:
            return SKIP
        cycle.write(self.name, _Note(frozenset(exclusive), users))
        return None

    def _users(self, pod: PodInfo, exclusive: frozenset[str]) -> int:
        return sum(
            _uses(other, pod, exclusive) for node in self._handle.nodes for other in node.pods.values()
        )

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        for kind, disk in pod.volumes.disks:
            if any(_conflict(kind, disk, other) for other in node.pods.values()):
                return _DISK
        return _IN_USE if cycle.read(self.name, _Note).users > 0 else None

    def simulate(self, cycle: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int) -> None:
        note = cycle.read(self.name, _Note)
        note.users += sign * _uses(other, pod, note.exclusive)

    @property
    def hints(self) -> Hints:
        return {
            EventKind.POD_DELETED: _volumes_are_free,
            EventKind.NODE_ADDED: None,
            EventKind.CLAIM: is_claimed,
        }


def _uses(other: PodInfo, pod: PodInfo, claims: frozenset[str]) -> int:
    if other.namespace != pod.namespace:
        return 0
    return sum(not claim.ephemeral and claim.name in claims for claim in other.volumes.claims)


def _conflict(kind: str, disk: Mapping[str, Any], other: PodInfo) -> bool:
    for their_kind, theirs in other.volumes.disks:
        if kind == their_kind and _same(kind, disk, theirs):
            shared = kind != "awsElasticBlockStore" and disk.get("readOnly") and theirs.get("readOnly")
            if not shared:
                return True
    return False


def _same(kind: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if kind != "rbd":
        return bool(one.get(_IDENTITY[kind]) == other.get(_IDENTITY[kind]))
    return (
        bool(set(one.get("monitors") or ()) & set(other.get("monitors") or ()))
        and one.get("pool") == other.get("pool")
        and one.get("image") == other.get("image")
    )


def _volumes_are_free(pod: PodInfo, what: ClusterEvent) -> bool:
    gone = what.old_pod
    if gone is None:
        return False
    claims = {claim.name for claim in pod.volumes.claims if not claim.ephemeral}
    return bool(_uses(gone, pod, frozenset(claims))) or any(
        _conflict(kind, disk, gone) for kind, disk in pod.volumes.disks
    )
