"""The volume sources that stand for storage outside the pod: disks, network file systems, drivers.

Each check looks at one source; which one applies and that there is only one is decided in `volumes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.schema.validation.pods.paths import validate_descending_path, validate_no_backsteps
from steersman.cluster.schema.validation.rules import Object, invalids
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required, too_long
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain, range_message

__all__ = ["SOURCES", "Source", "validate_csi_driver_name"]

#: A check of one source.
Source = Callable[[Object, Path], list[FieldError]]

_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ISCSI_FORMATS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_DISK: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_DISK: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def _needs(*fields: str) -> Source:
    """A source whose only rule is that these fields are set."""

    def check(source: Object, path: Path) -> list[FieldError]:
        return [required(path.child(field)) for field in fields if not source.get(field)]

    return check


def _validate_secret_ref(source: Object, path: Path) -> list[FieldError]:
    reference = source.get("secretRef")
    if reference is None or reference.get("name"):
        return []
    return [required(path.child("secretRef", "name"))]


def _validate_host_path(source: Object, path: Path) -> list[FieldError]:
    target = source.get("path")
    if not target:
        return [required(path.child("path"))]
    errors = validate_no_backsteps(target, path.child("path"))
    if (kind := source.get("type")) is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(path.child("type"), kind, _HOST_PATH_TYPES))
    return errors


def _validate_git_repo(source: Object, path: Path) -> list[FieldError]:
    errors = _needs("repository")(source, path)
    return errors + validate_descending_path(source.get("directory", ""), path.child("directory"))


def _partitioned(name_field: str) -> Source:
    def check(source: Object, path: Path) -> list[FieldError]:
        errors = _needs(name_field)(source, path)
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(invalid(path.child("partition"), partition, range_message(1, 255)))
        return errors

    return check


def _validate_nfs(source: Object, path: Path) -> list[FieldError]:
    errors = _needs("server", "path")(source, path)
    target = source.get("path", "")
    if not target.startswith("/"):
        errors.append(invalid(path.child("path"), target, "must be an absolute path"))
    return errors


def _validate_iscsi(source: Object, path: Path) -> list[FieldError]:
    errors = _needs("targetPortal", "iqn")(source, path)
    if name := source.get("iqn"):
        errors += _validate_iscsi_name(name, path.child("iqn"))
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        errors.append(invalid(path.child("lun"), lun, range_message(0, 255)))
    authenticates = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if authenticates and source.get("secretRef") is None:
        errors.append(required(path.child("secretRef")))
    if (initiator := source.get("initiatorName")) is not None:
        errors += _validate_iscsi_name(initiator, path.child("initiatorname"))
    return errors


def _validate_iscsi_name(name: str, path: Path) -> list[FieldError]:
    pattern = _ISCSI_FORMATS.get(name[:3])
    if pattern is None:
        return [invalid(path, name, "must be valid format starting with iqn, eui, or naa")]
    return [] if pattern.search(name) else [invalid(path, name, "must be valid format")]


def _validate_flocker(source: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid(path, "resource", text))
    if "/" in name:
        errors.append(invalid(path.child("datasetName"), name, "must not contain '/'"))
    return errors


def _validate_cinder(source: Object, path: Path) -> list[FieldError]:
    return _needs("volumeID")(source, path) + _validate_secret_ref(source, path)


def _validate_quobyte(source: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    registry = source.get("registry", "")
    pairs = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        errors.append(required(path.child("registry"), pairs))
    elif len(source.get("tenant", "")) >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(required(path.child("tenant"), text))
    else:
        wrong = [pair for pair in registry.split(",") if not _is_host_and_port(pair)]
        errors += (invalid(path.child("registry"), registry, pairs) for _ in wrong)
    return errors + _needs("volume")(source, path)


def _is_host_and_port(text: str) -> bool:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        return bool(bracket) and rest.startswith(":") and not set("[]") & set(host + rest)
    return text.count(":") == 1 and not set("[]") & set(text)


def _validate_fc(source: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    names, lun = source.get("targetWWNs"), source.get("lun")
    both = "must specify either targetWWNs or wwids, but not both"
    if not names and not source.get("wwids"):
        errors.append(required(path.child("targetWWNs"), both))
    if names and source.get("wwids"):
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(path.child("targetWWNs"), names, text))
    if names:
        if lun is None:
            errors.append(required(path.child("lun"), "lun is required if targetWWNs is specified"))
        elif not 0 <= lun <= 255:
            errors.append(invalid(path.child("lun"), lun, range_message(0, 255)))
    return errors


def _validate_flex(source: Object, path: Path) -> list[FieldError]:
    errors = _needs("driver")(source, path)
    for key in source.get("options") or ():
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(path.child("options").key(key), key, text))
    return errors


def _validate_azure_disk(source: Object, path: Path) -> list[FieldError]:
    errors = _needs("diskName", "diskURI")(source, path)
    uri, kind = source.get("diskURI", ""), source.get("kind")
    mode = source.get("cachingMode")
    if mode is not None and mode not in _CACHING_MODES:
        errors.append(not_supported(path.child("cachingMode"), mode, _CACHING_MODES))
    if kind is None:
        return errors
    if kind not in _DISK_KINDS:
        errors.append(not_supported(path.child("kind"), kind, _DISK_KINDS))
    if kind == "Managed":
        if not uri.startswith("/subscriptions/"):
            errors.append(not_supported(path.child("diskURI"), uri, [_MANAGED_DISK]))
    elif not uri.startswith("https://"):
        errors.append(not_supported(path.child("diskURI"), uri, [_BLOB_DISK]))
    return errors


def _validate_storage_os(source: Object, path: Path) -> list[FieldError]:
    errors = _needs("volumeName")(source, path)
    for field in ("volumeName", "volumeNamespace"):
        if name := source.get(field):
            errors += invalids(path.child(field), name, is_dns1123_label(name))
    return errors + _validate_secret_ref(source, path)


def validate_csi_driver_name(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if len(name) > 63 else []
    return errors + invalids(path, name, is_dns1123_subdomain(name.lower()))


def _validate_csi(source: Object, path: Path) -> list[FieldError]:
    errors = validate_csi_driver_name(source.get("driver", ""), path.child("driver"))
    reference: dict[str, Any] | None = source.get("nodePublishSecretRef")
    if reference is not None:
        name = reference.get("name")
        if not name:
            errors.append(required(path.child("nodePublishSecretRef", "name")))
        else:
            errors += invalids(path.child("name"), name, is_dns1123_subdomain(name))
    return errors


SOURCES: Final[dict[str, Source]] = {
    "hostPath": _validate_host_path,
    "gitRepo": _validate_git_repo,
    "gcePersistentDisk": _partitioned("pdName"),
    "awsElasticBlockStore": _partitioned("volumeID"),
    "nfs": _validate_nfs,
    "iscsi": _validate_iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _validate_flocker,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _validate_cinder,
    "cephfs": _needs("monitors"),
    "quobyte": _validate_quobyte,
    "fc": _validate_fc,
    "flexVolume": _validate_flex,
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _validate_azure_disk,
    "storageos": _validate_storage_os,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _validate_csi,
}
