"""Validation of policy: pod disruption budgets."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.objects.fields import FieldError, Path, invalid, not_supported
from steersman.objects.metadata import (
    validate_conditions,
    validate_label_selector,
    validate_nonnegative,
    validate_object_meta,
)
from steersman.objects.names import is_percent, name_is_path_segment

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_SPEC_SHAPE: Final[Shape] = (
    ("minAvailable", "MinAvailable", None),
    ("selector", "Selector", None),
    ("maxUnavailable", "MaxUnavailable", None),
    ("unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy", None),
)


def _budget(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors = []
    given = [field for field in ("minAvailable", "maxUnavailable") if spec.get(field) is not None]
    if len(given) == 2:
        text = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid(_SPEC, as_internal(spec, _SPEC_SHAPE), text))
    for field in given:
        errors += _amount(spec[field], _SPEC.child(field))
    errors += validate_label_selector(spec.get("selector"), _SPEC.child("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        errors.append(not_supported(_SPEC.child("unhealthyPodEvictionPolicy"), policy, _EVICTION_POLICIES))
    return errors


def _new_budget(obj: Object) -> list[FieldError]:
    """Metadata is looked at only where nothing else is wrong."""
    return _budget(obj) or validate_object_meta(
        obj["metadata"], namespaced=True, name_check=name_is_path_segment
    )


def _amount(amount: int | str, path: Path) -> list[FieldError]:
    """A number of pods, or a percentage of them that is not above the whole."""
    if isinstance(amount, int):
        return validate_nonnegative(amount, path)
    errors = invalids(path, amount, is_percent(amount))
    if not errors and int(amount[:-1]) > 100:
        errors.append(invalid(path, amount, "must not be greater than 100%"))
    return errors


def _budget_update(obj: Object, old: Object) -> list[FieldError]:
    return _budget(obj)


def _budget_status(obj: Object, old: Object) -> list[FieldError]:
    status = obj.get("status") or {}
    errors = validate_conditions(status.get("conditions") or (), _STATUS.child("conditions"))
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        errors += validate_nonnegative(status.get(field, 0), _STATUS.child(field))
    return errors


RULES: Final = {
    # Kubernetes itself never looks at the name of a budget beyond what a path allows.
    ("policy", "PodDisruptionBudget"): Rules(
        create=_new_budget,
        update=_budget_update,
        status=_budget_status,
        standard_finalizers=False,
        own_metadata=True,
    ),
}
