"""Rules for file paths inside volumes and containers."""

from __future__ import annotations

from steersman.objects.fields import FieldError, Path, invalid

__all__ = ["climbs", "validate_descending_path", "validate_no_backsteps", "validate_unreserved_path"]


def climbs(target: str) -> bool:
    """Whether an element of the path is `..`."""
    return ".." in target and ".." in target.split("/")


def validate_no_backsteps(target: str, path: Path) -> list[FieldError]:
    return [invalid(path, target, "must not contain '..'")] if climbs(target) else []


def validate_descending_path(target: str, path: Path) -> list[FieldError]:
    """Relative and never climbing."""
    errors = [invalid(path, target, "must be a relative path")] if target.startswith("/") else []
    return errors + validate_no_backsteps(target, path)


def validate_unreserved_path(target: str, path: Path) -> list[FieldError]:
    """Relative, never climbing, and outside the `..` names that kubelet uses itself."""
    errors = validate_descending_path(target, path)
    # When an element is `..` that was said already.
    if target.startswith("..") and not target.startswith("../"):
        errors.append(invalid(path, target, "must not start with '..'"))
    return errors
