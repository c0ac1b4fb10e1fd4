"""Claims, volumes and classes as the volume plugins look at them: plain objects from caches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from steersman.cluster.scheduler.framework.events import Occurrence
from steersman.cluster.scheduler.model.node_selection import read_node_selector
from steersman.cluster.scheduler.model.pod import Pod
from steersman.objects.quantities import Quantity
from steersman.objects.resource_type import ResourceType
from steersman.objects.selectors import LabelSelector

__all__ = [
    "CSI_CAPACITIES",
    "CSI_DRIVERS",
    "SELECTED_NODE",
    "allows_node",
    "annotations_of",
    "find_volume",
    "is_bound",
    "is_claimed",
    "is_for",
    "requested_bytes",
    "storage_class_of",
]

CSI_DRIVERS: Final = ResourceType("storage.k8s.io", "v1", "CSIDriver", "csidrivers", namespaced=False)
CSI_CAPACITIES: Final = ResourceType("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities")

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"

Object = Mapping[str, Any]


def annotations_of(obj: Object) -> Mapping[str, str]:
    return obj["metadata"].get("annotations") or {}


def storage_class_of(obj: Object) -> str:
    """The class of a claim or a volume; empty for none."""
    old = annotations_of(obj).get(_OLD_CLASS)
    name: str = old if old is not None else obj["spec"].get("storageClassName") or ""
    return name


def is_bound(claim: Object) -> bool:
    """Whether claim and volume belong together for good."""
    return bool(claim["spec"].get("volumeName")) and _BIND_COMPLETED in annotations_of(claim)


def requested_bytes(claim: Object) -> int | None:
    amount = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    return None if amount is None else Quantity.parse(amount).value


def allows_node(volume: Object, labels: Mapping[str, str]) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or read_node_selector(required).matches("", labels)


def is_for(volume: Object, claim: Object) -> bool:
    """Whether the volume is bound to the claim, or reserved for it."""
    reference, metadata = volume["spec"].get("claimRef"), claim["metadata"]
    if reference is None or any(reference.get(part) != metadata.get(part) for part in ("name", "namespace")):
        return False
    return not reference.get("uid") or reference["uid"] == metadata["uid"]


def find_volume(
    claim: Object, volumes: Iterable[Object], labels: Mapping[str, str], taken: Iterable[str]
) -> Object | None:
    """The smallest volume that a claim can have on a node with these labels; its own, if there is one."""
    wanted, excluded = requested_bytes(claim) or 0, frozenset(taken)
    smallest: Object | None = None
    for volume in volumes:
        if volume["metadata"]["name"] in excluded or not _could_have(claim, volume, wanted):
            continue
        if is_for(volume, claim):
            return volume if allows_node(volume, labels) else None
        if not _is_free(claim, volume) or not allows_node(volume, labels):
            continue
        if smallest is None or _capacity(volume) < _capacity(smallest):
            smallest = volume
    return smallest


def _capacity(volume: Object) -> int:
    return Quantity.parse((volume["spec"].get("capacity") or {}).get("storage", "0")).value


def _could_have(claim: Object, volume: Object, wanted: int) -> bool:
    mine, theirs = claim["spec"], volume["spec"]
    if theirs.get("claimRef") is not None and not is_for(volume, claim):
        return False
    return (
        _capacity(volume) >= wanted
        and (mine.get("volumeMode") or "Filesystem") == (theirs.get("volumeMode") or "Filesystem")
        and (mine.get("volumeAttributesClassName") or "") == (theirs.get("volumeAttributesClassName") or "")
        and volume["metadata"].get("deletionTimestamp") is None
    )


def _is_free(claim: Object, volume: Object) -> bool:
    selector = claim["spec"].get("selector")
    labels = volume["metadata"].get("labels") or {}
    return (
        (volume.get("status") or {}).get("phase") == "Available"
        and storage_class_of(volume) == storage_class_of(claim)
        and set(claim["spec"].get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ())
        and (selector is None or LabelSelector.from_object(selector).matches(labels))
    )


def is_claimed(pod: Pod, what: Occurrence) -> bool:
    """Whether something happened to a claim of the pod."""
    metadata = what.object["metadata"]
    return metadata.get("namespace") == pod.namespace and metadata["name"] in pod.claim_names()
