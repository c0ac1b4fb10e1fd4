"""Validation of storagemigration.k8s.io: migrations of stored objects to another version."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.rules import Object, Revalidation, Rules
from steersman.objects.fields import FieldError, Path, invalid, required
from steersman.objects.metadata import validate_conditions
from steersman.objects.names import is_dns1035_label, is_dns1123_subdomain

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_RESOURCE: Final = _SPEC.child("resource")
_STATUS: Final = Path("status")


def _migration(obj: Object) -> list[FieldError]:
    target = (obj.get("spec") or {}).get("resource") or {}
    resource, group = target.get("resource", ""), target.get("group", "")
    errors = []
    if not resource:
        errors.append(required(_RESOURCE.child("resource"), "resource is required to be set"))
    elif wrong := is_dns1035_label(resource):
        errors.append(invalid(_RESOURCE.child("resource"), resource, ",".join(wrong)))
    if group and (wrong := is_dns1123_subdomain(group)):
        errors.append(invalid(_RESOURCE.child("group"), group, ",".join(wrong)))
    return errors


def _migration_update(obj: Object, old: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    if spec == (old.get("spec") or {}):
        return []
    target = spec.get("resource") or {}
    shown = {"Resource": {"group": target.get("group", ""), "resource": target.get("resource", "")}}
    return [invalid(_SPEC, shown, "field is immutable")]


def _migration_status(obj: Object, old: Object) -> list[FieldError]:
    status, before = obj.get("status") or {}, old.get("status") or {}
    version, conditions = status.get("resourceVersion", ""), status.get("conditions") or []
    errors = []
    if version and (reason := _resource_version_error(version)):
        errors.append(invalid(_STATUS.child("resourceVersion"), version, reason))
    at = _STATUS.child("conditions")
    errors += validate_conditions(conditions, at)
    if before.get("resourceVersion") and before["resourceVersion"] != version:
        errors.append(invalid(_STATUS.child("resourceVersion"), version, "field is immutable"))
    if _is(status, "Succeeded") and _is(status, "Failed"):
        text = "Both success and failed conditions cannot be true at the same time"
        errors.append(invalid(at, conditions, text))
    for condition, word in (("Succeeded", "Success"), ("Failed", "Failed")):
        if _is(before, condition) and not _is(status, condition):
            text = f"{word} condition cannot be set to false once it is true"
            errors.append(invalid(at, conditions or None, text))
    return errors


def _is(status: Object, wanted: str) -> bool:
    for condition in status.get("conditions") or ():
        if condition.get("type") == wanted:
            return bool(condition.get("status") == "True")
    return False


def _resource_version_error(version: str) -> str:
    if version.isascii() and version.isdigit() and not version.startswith("0"):
        return ""
    return f"resource version is not well formed: {version}"


RULES: Final = {
    ("storagemigration.k8s.io", "StorageVersionMigration"): Rules(
        create=_migration,
        update=_migration_update,
        status=_migration_status,
        revalidation=Revalidation.BEFORE,
    ),
}
