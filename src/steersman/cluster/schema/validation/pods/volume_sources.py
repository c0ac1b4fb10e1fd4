"""The volume sources that stand for storage outside the pod: what rules.txt cannot say about them.

Which one applies and that there is only one is decided in `volumes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from steersman.cluster.schema.validation.pods.paths import validate_descending_path, validate_no_backsteps
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, invalid, not_supported, required, too_long
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_subdomain

__all__ = [
    "validate_absolute_path",
    "validate_csi_driver_name",
    "validate_descending_path",
    "validate_disk_uri",
    "validate_iscsi_name",
    "validate_no_backsteps",
    "validate_no_slash",
    "validate_options",
    "validate_registry",
]

_ISCSI_FORMATS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_MANAGED_DISK: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_DISK: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def validate_absolute_path(target: str, path: Path) -> list[FieldError]:
    return [] if target.startswith("/") else [invalid(path, target, "must be an absolute path")]


def validate_iscsi_name(name: str, path: Path) -> list[FieldError]:
    pattern = _ISCSI_FORMATS.get(name[:3])
    if pattern is None:
        return [invalid(path, name, "must be valid format starting with iqn, eui, or naa")]
    return [] if pattern.search(name) else [invalid(path, name, "must be valid format")]


def validate_no_slash(name: str, path: Path) -> list[FieldError]:
    return [invalid(path, name, "must not contain '/'")] if "/" in name else []


def validate_registry(source: Object, path: Path) -> list[FieldError]:
    registry = source.get("registry", "")
    pairs = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        return [required(path.child("registry"), pairs)]
    if len(source.get("tenant", "")) >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        return [required(path.child("tenant"), text)]
    wrong = [pair for pair in registry.split(",") if not _is_host_and_port(pair)]
    return [invalid(path.child("registry"), registry, pairs) for _ in wrong]


def _is_host_and_port(text: str) -> bool:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        return bool(bracket) and rest.startswith(":") and not set("[]") & set(host + rest)
    return text.count(":") == 1 and not set("[]") & set(text)


def validate_options(options: Iterable[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in options:
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(path.key(key), key, text))
    return errors


def validate_disk_uri(source: Object, path: Path) -> list[FieldError]:
    """Managed disks are named by a path, others by a URL."""
    uri, kind = source.get("diskURI", ""), source.get("kind")
    if kind is None:
        return []
    if kind == "Managed":
        known = uri.startswith("/subscriptions/")
        return [] if known else [not_supported(path.child("diskURI"), uri, [_MANAGED_DISK])]
    return [] if uri.startswith("https://") else [not_supported(path.child("diskURI"), uri, [_BLOB_DISK])]


def validate_csi_driver_name(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if len(name) > 63 else []
    return errors + invalids(path, name, is_dns1123_subdomain(name.lower()))
