"""Defaults of volume sources, shared by pod volumes and persistent volumes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from steersman.cluster.schema.defaults.filling import round_resources, unset, zero
from steersman.cluster.schema.defaults.images import default_pull_policy
from steersman.objects.kinds import Object

__all__ = ["default_claim_spec", "default_field_refs", "default_sources", "default_volumes"]

_FILE_MODE: Final = 0o644

#: Source → (field, value) for fields where zero means unset.
_ZERO: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "iscsi": (("iscsiInterface", "default"),),
    "rbd": (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")),
    "scaleIO": (("storageMode", "ThinProvisioned"), ("fsType", "xfs")),
}

#: Source → (field, value) for fields where an explicit zero counts, in pods and persistent volumes alike.
_UNSET: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "hostPath": (("type", ""),),
    "azureDisk": (("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("readOnly", False), ("kind", "Shared")),
}

#: Sources only pods have.
_POD_UNSET: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "secret": (("defaultMode", _FILE_MODE),),
    "configMap": (("defaultMode", _FILE_MODE),),
    "downwardAPI": (("defaultMode", _FILE_MODE),),
    "projected": (("defaultMode", _FILE_MODE),),
}


def default_sources(volume: Object) -> None:
    """Defaults of the sources that pods and persistent volumes share."""
    for name in volume:
        for key, value in _ZERO.get(name, ()):
            zero(volume[name], key, value)
        for key, value in _UNSET.get(name, ()):
            unset(volume[name], key, value)


def default_volumes(volumes: Iterable[Object]) -> None:
    for volume in volumes:
        if all(value is None for name, value in volume.items() if name != "name"):
            volume["emptyDir"] = {}
            continue
        default_sources(volume)
        for name in volume:
            for key, value in _POD_UNSET.get(name, ()):
                unset(volume[name], key, value)
        _default_nested(volume)


def _default_nested(volume: Object) -> None:
    if (image := volume.get("image")) is not None:
        zero(image, "pullPolicy", default_pull_policy(image.get("reference", "")))
    if downward := volume.get("downwardAPI"):
        default_field_refs(downward.get("items") or ())
    if projected := volume.get("projected"):
        for source in projected.get("sources") or ():
            if downward := source.get("downwardAPI"):
                default_field_refs(downward.get("items") or ())
            if (token := source.get("serviceAccountToken")) is not None:
                unset(token, "expirationSeconds", 3600)
    if template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        default_claim_spec(template["spec"])


def default_field_refs(holders: Iterable[Object]) -> None:
    for holder in holders:
        if (reference := holder.get("fieldRef")) is not None:
            zero(reference, "apiVersion", "v1")


def default_claim_spec(spec: Object) -> None:
    unset(spec, "volumeMode", "Filesystem")
    if resources := spec.get("resources"):
        round_resources(resources, ("limits", "requests"))
