"""The tables of volumes and claims, and of storage.k8s.io."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    name_of,
    seconds,
    wide,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES", "default_storage_class"]

_GROUP = "storage.k8s.io"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
#: Where claims and volumes named their class before there was a field for it; it still wins.
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
#: Access modes are shown in this order, whatever the order they are listed in.
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def default_storage_class(classes: Iterable[Object]) -> str:
    """The name of the class that claims get by default: the newest marked so, then the first by name."""
    marked = [obj for obj in classes if _is_marked_default(obj)]
    if not marked:
        return ""
    return name_of(min(marked, key=lambda obj: (-_created(obj), name_of(obj))))


def _is_marked_default(obj: Object) -> bool:
    annotations = at(obj, "metadata", "annotations", default={})
    return any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)


def _created(obj: Object) -> float:
    timestamp = at(obj, "metadata", "creationTimestamp")
    return seconds(timestamp) if timestamp else 0.0


def _access_modes(modes: Iterable[str]) -> str:
    listed = set(modes)
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in listed)


def _class_name(obj: Object) -> str:
    annotations = at(obj, "metadata", "annotations", default={})
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return str(at(obj, "spec", "storageClassName", default=""))


def _phase(obj: Object) -> str:
    if at(obj, "metadata", "deletionTimestamp") is not None:
        return "Terminating"
    return str(at(obj, "status", "phase", default=""))


def _volume(obj: Object, now: float) -> Cells:
    spec = at(obj, "spec", default={})
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        at(spec, "capacity", "storage", default="0"),
        _access_modes(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}",
        _class_name(obj),
        at(spec, "volumeAttributesClassName", default=UNSET),
        at(obj, "status", "reason", default=""),
        age(obj, now),
        at(spec, "volumeMode", default=UNSET),
    ]


def _claim(obj: Object, now: float) -> Cells:
    spec = at(obj, "spec", default={})
    bound = bool(spec.get("volumeName"))
    return [
        name_of(obj),
        _phase(obj),
        spec.get("volumeName", ""),
        at(obj, "status", "capacity", "storage", default="0") if bound else "",
        _access_modes(at(obj, "status", "accessModes", default=())) if bound else "",
        _class_name(obj),
        at(spec, "volumeAttributesClassName", default=UNSET),
        age(obj, now),
        at(spec, "volumeMode", default=UNSET),
    ]


def _csi_driver(obj: Object, now: float) -> Cells:
    spec = at(obj, "spec", default={})
    requests = spec.get("tokenRequests")
    return [
        name_of(obj),
        at(spec, "attachRequired", default=True),
        at(spec, "podInfoOnMount", default=False),
        at(spec, "storageCapacity", default=False),
        UNSET if requests is None else ",".join(request.get("audience", "") for request in requests),
        at(spec, "requiresRepublish", default=False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now),
    ]


def _csi_node(obj: Object, now: float) -> Cells:
    return [name_of(obj), len(at(obj, "spec", "drivers", default=())), age(obj, now)]


def _storage_class(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        at(obj, "provisioner", default=""),
        at(obj, "reclaimPolicy", default="Delete"),
        at(obj, "volumeBindingMode", default="Immediate"),
        at(obj, "allowVolumeExpansion", default=False),
        age(obj, now),
    ]


def _volume_attachment(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        at(obj, "spec", "attacher", default=""),
        at(obj, "spec", "source", "persistentVolumeName", default=""),
        at(obj, "spec", "nodeName", default=""),
        at(obj, "status", "attached", default=False),
        age(obj, now),
    ]


def _attributes_class(obj: Object, now: float) -> Cells:
    return [name_of(obj), at(obj, "driverName", default=""), age(obj, now)]


_CLASSES = (
    ColumnDefinition("StorageClass", "The class of storage."),
    ColumnDefinition("VolumeAttributesClass", "The class of attributes."),
)
_VOLUME_MODE = wide("VolumeMode", "Whether it is a file system or a raw block device.")

TABLES = {
    ("", "persistentvolumeclaims"): Table(
        (
            NAME,
            ColumnDefinition("Status", "Whether the claim is bound to a volume."),
            ColumnDefinition("Volume", "The volume it is bound to."),
            ColumnDefinition("Capacity", "The size of that volume."),
            ColumnDefinition("Access Modes", "How that volume can be mounted."),
            *_CLASSES,
            AGE,
            _VOLUME_MODE,
        ),
        _claim,
    ),
    ("", "persistentvolumes"): Table(
        (
            NAME,
            ColumnDefinition("Capacity", "The size of the volume."),
            ColumnDefinition("Access Modes", "How it can be mounted."),
            ColumnDefinition("Reclaim Policy", "What happens to it when its claim is gone."),
            ColumnDefinition("Status", "Whether it is bound to a claim."),
            ColumnDefinition("Claim", "The claim it is bound to."),
            *_CLASSES,
            ColumnDefinition("Reason", "Why it is in a failed state."),
            AGE,
            _VOLUME_MODE,
        ),
        _volume,
    ),
    (_GROUP, "csidrivers"): Table(
        (
            NAME,
            ColumnDefinition("AttachRequired", "Whether volumes are attached before mounting.", "boolean"),
            ColumnDefinition(
                "PodInfoOnMount",
                "Whether the driver needs information about the pod to mount a volume.",
                "boolean",
            ),
            ColumnDefinition("StorageCapacity", "Whether scheduling considers capacity.", "boolean"),
            ColumnDefinition("TokenRequests", "The audiences of the tokens it needs."),
            ColumnDefinition("RequiresRepublish", "Whether it is called again and again.", "boolean"),
            ColumnDefinition("Modes", "The volume lifecycles it supports."),
            AGE,
        ),
        _csi_driver,
    ),
    (_GROUP, "csinodes"): Table(
        (NAME, ColumnDefinition("Drivers", "How many drivers the node has.", "integer"), AGE), _csi_node
    ),
    (_GROUP, "storageclasses"): Table(
        (
            NAME,
            ColumnDefinition("Provisioner", "Who makes the volumes."),
            ColumnDefinition("ReclaimPolicy", "What happens to a volume when its claim is gone."),
            ColumnDefinition("VolumeBindingMode", "When volumes are made and bound."),
            ColumnDefinition("AllowVolumeExpansion", "Whether volumes can grow."),
            AGE,
        ),
        _storage_class,
    ),
    (_GROUP, "volumeattachments"): Table(
        (
            NAME,
            ColumnDefinition("Attacher", "The driver that attaches.", format="name"),
            ColumnDefinition("PV", "The volume to attach."),
            ColumnDefinition("Node", "The node to attach it to."),
            ColumnDefinition("Attached", "Whether it is attached.", "boolean"),
            AGE,
        ),
        _volume_attachment,
    ),
    (_GROUP, "volumeattributesclasses"): Table(
        (NAME, ColumnDefinition("DriverName", "The driver it applies to."), AGE), _attributes_class
    ),
}
