"""Validation of storagemigration.k8s.io: what rules.txt cannot say about migrations of stored objects."""

from __future__ import annotations

from typing import Final

from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_conditions

__all__ = [
    "validate_migration_status",
    "validate_same_spec",
]

_STATUS: Final = Path("status")


def validate_same_spec(obj: Object, path: Path, old: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    if spec == (old.get("spec") or {}):
        return []
    target = spec.get("resource") or {}
    shown = {"Resource": {"group": target.get("group", ""), "resource": target.get("resource", "")}}
    return [invalid(path.child("spec"), shown, "field is immutable")]


def validate_migration_status(obj: Object, path: Path, old: Object) -> list[FieldError]:
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
