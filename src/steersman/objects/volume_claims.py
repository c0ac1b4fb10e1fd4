"""Claims and volumes: what they say of each other, and which volume suits a claim. Pure.

The rules that the controllers that bind them and the scheduler share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from steersman.objects.kinds.types.core_v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from steersman.objects.labels import annotations_of, labels_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.quantities import Quantity
from steersman.objects.selectors import LabelSelector

__all__ = [
    "BIND_COMPLETED",
    "BOUND_BY_CONTROLLER",
    "LOCAL_PATH",
    "PROVISIONED_BY",
    "PROVISIONER",
    "SELECTED_NODE",
    "best_volume",
    "can_have",
    "capacity",
    "claim_key",
    "claim_reference",
    "class_of",
    "default_class",
    "has_class",
    "is_bound",
    "is_for",
    "is_free",
    "mismatch",
    "phase_of",
    "requested",
    "volume_mode",
]


BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
#: The provisioner of volumes that are directories of this machine, as storage classes name it.
LOCAL_PATH: Final = "steersman.dev/local-path"
#: On claims: who is to make a volume for them.
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def phase_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return (obj.get("status") or {}).get("phase") or ""


def claim_key(claim: PersistentVolumeClaim) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def class_of(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    """The class of a claim or a volume; empty for none."""
    old = annotations_of(obj).get(_OLD_CLASS)
    name: str = old if old is not None else obj["spec"].get("storageClassName") or ""
    return name


def has_class(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim says which class it wants, be it none."""
    return _OLD_CLASS in annotations_of(claim) or claim["spec"].get("storageClassName") is not None


def default_class(classes: Iterable[Mapping[str, Any]]) -> str | None:
    """The class of claims that do not say: the newest of those that are marked so."""
    marked: list[tuple[str, str]] = [
        (one["metadata"].get("creationTimestamp") or "", one["metadata"]["name"])
        for one in classes
        if any(annotations_of(one).get(name) == "true" for name in _DEFAULT_CLASS)
    ]
    if not marked:
        return None
    newest = max(created for created, _ in marked)
    return min(name for created, name in marked if created == newest)


def requested(claim: PersistentVolumeClaim) -> Quantity:
    return Quantity.parse(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0"))


def capacity(volume: PersistentVolume) -> Quantity:
    return Quantity.parse((volume["spec"].get("capacity") or {}).get("storage", "0"))


def volume_mode(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return obj["spec"].get("volumeMode") or "Filesystem"


def claim_reference(claim: PersistentVolumeClaim) -> ObjectReference:
    """How a volume names its claim."""
    metadata = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is bound to a claim, or reserved for it."""
    reference, metadata = volume["spec"].get("claimRef"), claim["metadata"]
    if reference is None or any(reference.get(part) != metadata.get(part) for part in ("name", "namespace")):
        return False
    return not reference.get("uid") or reference["uid"] == metadata["uid"]


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether claim and volume belong together for good."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations_of(claim)


def best_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], *, waits: bool
) -> PersistentVolume | None:
    """The volume reserved for a claim, else the smallest free one with the fewest ways to access it.

    Free volumes are not looked at for a claim that `waits` for its first consumer: the scheduler chooses.
    """
    fitting = []
    for volume in volumes:
        if not can_have(claim, volume) or not _access_modes(claim) <= _access_modes(volume):
            continue
        if is_for(volume, claim):
            return volume
        if not waits and is_free(claim, volume):
            fitting.append(volume)
    return min(fitting, key=_cost, default=None)


def _cost(volume: PersistentVolume) -> tuple[int, Quantity, str]:
    return len(volume["spec"].get("accessModes") or ()), capacity(volume), volume["metadata"]["name"]


def can_have(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether a volume is large enough and of the right kind, and nobody else's."""
    return (
        (volume["spec"].get("claimRef") is None or is_for(volume, claim))
        and capacity(volume) >= requested(claim)
        and volume_mode(claim) == volume_mode(volume)
        and _attributes_class(claim) == _attributes_class(volume)
        and not is_deleting(volume)
    )


def is_free(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether a claim may choose a volume that it can have."""
    selector = claim["spec"].get("selector")
    labels = labels_of(volume)
    return (
        phase_of(volume) == "Available"
        and class_of(volume) == class_of(claim)
        and _access_modes(claim) <= _access_modes(volume)
        and (selector is None or LabelSelector.from_object(selector).matches(labels))
    )


def mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Why a claim cannot have the volume it asks for; empty if it can."""
    if is_deleting(volume):
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if capacity(volume) < requested(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes_class(volume) != _attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if volume_mode(claim) != volume_mode(volume):
        return "incompatible volumeMode"
    if not _access_modes(claim) <= _access_modes(volume):
        return "incompatible accessMode"
    return ""


def _attributes_class(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return obj["spec"].get("volumeAttributesClassName") or ""


def _access_modes(obj: PersistentVolume | PersistentVolumeClaim) -> set[str]:
    return set(obj["spec"].get("accessModes") or ())
