"""Validation of policy: what rules.txt cannot say about pod disruption budgets."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_nonnegative, validate_object_meta
from steersman.objects.names import is_percent, name_is_path_segment

__all__ = ["validate_amount", "validate_new_budget", "validate_one_bound"]

_SPEC_SHAPE: Final[Shape] = (
    ("minAvailable", "MinAvailable", None),
    ("selector", "Selector", None),
    ("maxUnavailable", "MaxUnavailable", None),
    ("unhealthyPodEvictionPolicy", "UnhealthyPodEvictionPolicy", None),
)
_validate_budget = compiled_check("policy.v1.PodDisruptionBudget update")


def validate_new_budget(budget: Object, path: Path) -> list[FieldError]:
    """Metadata is checked only where nothing else is wrong, and its name only as part of a URL."""
    return _validate_budget(budget, path) or validate_object_meta(
        budget["metadata"], namespaced=True, name_check=name_is_path_segment
    )


def validate_one_bound(spec: Object, path: Path) -> list[FieldError]:
    if spec.get("minAvailable") is None or spec.get("maxUnavailable") is None:
        return []
    text = "minAvailable and maxUnavailable cannot be both set"
    return [invalid(path, as_internal(spec, _SPEC_SHAPE), text)]


def validate_amount(amount: int | str, path: Path) -> list[FieldError]:
    """A number of pods, or a percentage of them that is not above the whole."""
    if isinstance(amount, int):
        return validate_nonnegative(amount, path)
    errors = invalids(path, amount, is_percent(amount))
    if not errors and int(amount[:-1]) > 100:
        errors.append(invalid(path, amount, "must not be greater than 100%"))
    return errors
