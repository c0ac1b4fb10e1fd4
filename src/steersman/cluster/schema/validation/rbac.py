"""Validation of rbac.authorization.k8s.io: what rules.txt cannot say about roles and bindings."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.objects.errors import SelectorError
from steersman.objects.fields import FieldError, Path, invalid, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_label_selector
from steersman.objects.selectors import LabelSelector

__all__ = ["validate_same_role", "validate_selectors"]

_ROLE_REF_SHAPE: Final[Shape] = (("apiGroup", "APIGroup", ""), ("kind", "Kind", ""), ("name", "Name", ""))


def validate_selectors(selectors: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for number, selector in enumerate(selectors):
        here = path.index(number)
        errors += validate_label_selector(selector, here)
        try:
            LabelSelector.from_object(selector)
        except SelectorError:
            errors.append(invalid(here, None, "invalid label selector."))
    return errors


def validate_same_role(binding: Object, path: Path, old: Object) -> list[FieldError]:
    reference = binding.get("roleRef") or {}
    if reference == (old.get("roleRef") or {}):
        return []
    # The declared rule for the name is not asked about a reference that may not change anyway.
    here = path.child("roleRef")
    errors = [] if reference.get("name") else [required(here.child("name"))]
    return [*errors, invalid(here, as_internal(reference, _ROLE_REF_SHAPE), "field is immutable")]
