"""The NodeVolumeLimits plugin: limits the volumes of a CSI driver attached to a node (from its CSINode)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, cast

import msgspec

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import Resources
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.objects.kinds.types.core_v1 import PersistentVolume, PersistentVolumeClaim
from steersman.objects.kinds.types.storage_v1 import StorageClass
from steersman.objects.kinds.views.volumes import AttachmentView
from steersman.objects.resources import (
    CSI_NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)
from steersman.objects.volume_claims import class_of
from steersman.runtime import Cached

__all__ = ["NodeVolumeLimits"]

_NAME: Final = "NodeVolumeLimits"
_FULL: Final = Refusal(_NAME, ("node(s) exceed max volume count",))
_BY_NODE: Final = "scheduler: node"


class NodeVolumeLimits:
    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.resources: Resources = {
            CSI_NODES: None,
            PERSISTENT_VOLUME_CLAIMS: None,
            PERSISTENT_VOLUMES: None,
            STORAGE_CLASSES: None,
            VOLUME_ATTACHMENTS: None,
        }
        self._indexed = False

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | Skip | None:
        if not pod.volumes.claims:
            return SKIP
        cycle.write(self.name, dict(self._volumes([pod])))
        return None

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        limits = self._limits(node.name)
        new: dict[str, str] = cycle.read(self.name, dict)
        if not limits or not new:
            return None
        used = dict(self._volumes(node.pods.values())) | dict(self._attached(node.name))
        present = Counter(used.values())
        wanted = Counter(driver for volume, driver in new.items() if volume not in used)
        for driver, count in wanted.items():
            if driver in limits and present[driver] + count > limits[driver]:
                return _FULL
        return None

    def _limits(self, node: str) -> dict[str, int]:
        found = self._handle.find(CSI_NODES, node)
        drivers: list[dict[str, Any]] = (found or {}).get("spec", {}).get("drivers") or []
        counts = {driver["name"]: (driver.get("allocatable") or {}).get("count") for driver in drivers}
        return {name: count for name, count in counts.items() if count is not None}

    def _volumes(self, pods: Iterable[PodInfo]) -> Iterable[tuple[str, str]]:
        """(volume, driver) of each CSI volume; one that is not made yet goes by its claim."""
        for pod in pods:
            for name in pod.claim_names():
                claim = cast(
                    "PersistentVolumeClaim | None",
                    self._handle.find(PERSISTENT_VOLUME_CLAIMS, name, pod.namespace),
                )
                if claim is not None and (found := self._volume(claim)) is not None:
                    yield found

    def _volume(self, claim: PersistentVolumeClaim) -> tuple[str, str] | None:
        volume_name = claim["spec"].get("volumeName")
        volume = (
            cast("PersistentVolume | None", self._handle.find(PERSISTENT_VOLUMES, volume_name))
            if volume_name
            else None
        )
        if volume is not None:
            source = volume["spec"].get("csi")
            return (
                None if source is None else (f"{source['driver']}/{source['volumeHandle']}", source["driver"])
            )
        storage_class = cast("StorageClass | None", self._handle.find(STORAGE_CLASSES, class_of(claim)))
        if storage_class is None:
            return None
        metadata, driver = claim["metadata"], storage_class["provisioner"]
        return f"{driver}/unbound {metadata['namespace']}/{metadata['name']}", driver

    def _attached(self, node: str) -> Iterable[tuple[str, str]]:
        """What is attached to the node though no pod of it uses it (any more)."""
        cache = self._handle.cache(VOLUME_ATTACHMENTS)
        if not self._indexed:
            cache.add_index(_BY_NODE, _node_of)
            self._indexed = True
        for cached in cache.by_index(_BY_NODE, node):
            name = _decode_attachment(cached.data).spec.source.persistent_volume_name
            volume = (
                cast("PersistentVolume | None", self._handle.find(PERSISTENT_VOLUMES, name)) if name else None
            )
            source = None if volume is None else volume["spec"].get("csi")
            if source is not None:
                yield f"{source['driver']}/{source['volumeHandle']}", source["driver"]

    @property
    def hints(self) -> Hints:
        return {
            EventKind.CSI_NODE: None,
            EventKind.POD_DELETED: _frees_volumes,
            EventKind.CLAIM: None,
            EventKind.ATTACHMENT_DELETED: None,
        }


def _node_of(cached: Cached) -> list[str]:
    return [_decode_attachment(cached.data).spec.node_name]


_decode_attachment = msgspec.json.Decoder(AttachmentView).decode


def _frees_volumes(_: PodInfo, what: ClusterEvent) -> bool:
    return what.old_pod is not None and bool(what.old_pod.volumes.claims)
