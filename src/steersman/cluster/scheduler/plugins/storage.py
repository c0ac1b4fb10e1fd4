"""Claims, volumes and storage classes as the volume plugins read them: plain objects from caches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from steersman.cluster.scheduler.framework.events import ClusterEvent
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.objects.kinds.types.core_v1 import PersistentVolume, PersistentVolumeClaim
from steersman.objects.node_selection import read_node_selector
from steersman.objects.quantities import Quantity
from steersman.objects.resource_type import ResourceType
from steersman.objects.volume_claims import can_have, capacity, is_for, is_free

__all__ = [
    "CSI_CAPACITIES",
    "CSI_DRIVERS",
    "allows_node",
    "find_volume",
    "is_claimed",
    "requested_bytes",
]

CSI_DRIVERS: Final = ResourceType("storage.k8s.io", "v1", "CSIDriver", "csidrivers", namespaced=False)
CSI_CAPACITIES: Final = ResourceType("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities")


def requested_bytes(claim: PersistentVolumeClaim) -> int | None:
    amount = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    return None if amount is None else Quantity.parse(amount).value


def allows_node(volume: PersistentVolume, labels: Mapping[str, str]) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or read_node_selector(required).matches("", labels)


def find_volume(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    labels: Mapping[str, str],
    taken: Iterable[str],
) -> PersistentVolume | None:
    """The smallest volume that a claim can have on a node with these labels; its own, if there is one."""
    excluded = frozenset(taken)
    smallest: PersistentVolume | None = None
    for volume in volumes:
        if volume["metadata"]["name"] in excluded or not can_have(claim, volume):
            continue
        if is_for(volume, claim):
            return volume if allows_node(volume, labels) else None
        if not is_free(claim, volume) or not allows_node(volume, labels):
            continue
        if smallest is None or capacity(volume) < capacity(smallest):
            smallest = volume
    return smallest


def is_claimed(pod: PodInfo, what: ClusterEvent) -> bool:
    """Whether something happened to a claim of the pod."""
    metadata = what.object["metadata"]
    return metadata.get("namespace") == pod.namespace and metadata["name"] in pod.claim_names()
