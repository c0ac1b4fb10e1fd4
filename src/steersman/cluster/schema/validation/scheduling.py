"""Validation of scheduling.k8s.io: what rules.txt cannot say about priority classes."""

from __future__ import annotations

from typing import Final

from steersman.objects.fields import FieldError, Path, forbidden
from steersman.objects.kinds import Object

__all__ = ["SYSTEM_CLASSES", "validate_system_class"]

_HIGHEST: Final = 1_000_000_000
_SYSTEM_PREFIX: Final = "system-"
#: The priority classes that every cluster has, and their values.
SYSTEM_CLASSES: Final = {
    "system-node-critical": 2 * _HIGHEST + 1000,
    "system-cluster-critical": 2 * _HIGHEST,
}


def validate_system_class(obj: Object, path: Path) -> list[FieldError]:
    """The classes whose names begin with `system-` are Kubernetes' own; others have a highest value."""
    name = obj["metadata"].get("name", "")
    if name.startswith(_SYSTEM_PREFIX):
        if reason := _system_class_error(name, obj):
            text = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only."
            return [forbidden(path.child("metadata", "name"), f"{text} error: {reason}")]
    elif obj.get("value", 0) > _HIGHEST:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        return [forbidden(path.child("value"), text)]
    return []


def _system_class_error(name: str, obj: Object) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if obj.get("value", 0) != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    if obj.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""
