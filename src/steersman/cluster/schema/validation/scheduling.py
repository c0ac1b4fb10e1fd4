"""Validation of scheduling.k8s.io: priority classes."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.rules import Object, Rules
from steersman.objects.fields import FieldError, Path, forbidden, not_supported, required
from steersman.objects.metadata import validate_immutable

__all__ = ["RULES", "SYSTEM_CLASSES"]

_HIGHEST: Final = 1_000_000_000
_SYSTEM_PREFIX: Final = "system-"
#: The priority classes that every cluster has, and their values.
SYSTEM_CLASSES: Final = {
    "system-node-critical": 2 * _HIGHEST + 1000,
    "system-cluster-critical": 2 * _HIGHEST,
}
_POLICY: Final = Path("preemptionPolicy")
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def _priority_class(obj: Object) -> list[FieldError]:
    errors = []
    name = obj["metadata"].get("name", "")
    if name.startswith(_SYSTEM_PREFIX):
        if reason := _system_class_error(name, obj):
            text = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only."
            errors.append(forbidden(Path("metadata").child("name"), f"{text} error: {reason}"))
    elif obj.get("value", 0) > _HIGHEST:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        errors.append(forbidden(Path("value"), text))
    policy = obj.get("preemptionPolicy")
    if policy == "":
        errors.append(required(_POLICY))
    elif policy is not None and policy not in _POLICIES:
        errors.append(not_supported(_POLICY, policy, _POLICIES))
    return errors


def _system_class_error(name: str, obj: Object) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if obj.get("value", 0) != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    if obj.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def _priority_class_update(obj: Object, old: Object) -> list[FieldError]:
    errors = []
    if obj.get("value", 0) != old.get("value", 0):
        errors.append(forbidden(Path("value"), "may not be changed in an update."))
    return errors + validate_immutable(obj.get("preemptionPolicy"), old.get("preemptionPolicy"), _POLICY)


RULES: Final = {
    ("scheduling.k8s.io", "PriorityClass"): Rules(create=_priority_class, update=_priority_class_update),
}
