"""Defaults of volumes, claims, storage classes and CSI objects."""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema.defaults.filling import round_resources, unset, zero
from steersman.cluster.schema.defaults.volumes import default_claim_spec, default_sources
from steersman.objects.kinds import Object

__all__ = [
    "default_claim",
    "default_csi_driver",
    "default_persistent_volume",
    "default_storage_class",
    "default_volume_attachment",
]

_CSI_DRIVER: Final[tuple[tuple[str, Any], ...]] = (
    ("attachRequired", True),
    ("podInfoOnMount", False),
    ("storageCapacity", False),
    ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
    ("requiresRepublish", False),
    ("seLinuxMount", False),
    ("preventPodSchedulingIfMissing", False),
)


def default_persistent_volume(volume: Object) -> None:
    spec: Object = volume["spec"]
    zero(volume["status"], "phase", "Pending")
    zero(spec, "persistentVolumeReclaimPolicy", "Retain")
    unset(spec, "volumeMode", "Filesystem")
    round_resources(spec, ("capacity",))
    default_sources(spec)


def default_claim(claim: Object) -> None:
    zero(claim["status"], "phase", "Pending")
    default_claim_spec(claim["spec"])
    round_resources(claim["status"], ("capacity", "allocatedResources"))


def default_storage_class(storage_class: Object) -> None:
    unset(storage_class, "reclaimPolicy", "Delete")
    unset(storage_class, "volumeBindingMode", "Immediate")


def default_csi_driver(driver: Object) -> None:
    for key, value in _CSI_DRIVER:
        unset(driver["spec"], key, value)
    zero(driver["spec"], "volumeLifecycleModes", ["Persistent"])


def default_volume_attachment(attachment: Object) -> None:
    if inline := attachment["spec"]["source"].get("inlineVolumeSpec"):
        round_resources(inline, ("capacity",))
        default_sources(inline)
