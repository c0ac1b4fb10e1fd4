"""Bindings of pods to nodes, as schedulers POST them. The API server asks for this directly."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_subdomain

__all__ = ["validate_binding"]

_TARGET: Final = Path("target")


def validate_binding(binding: Object) -> list[FieldError]:
    """The body of a POST to `pods/binding`."""
    target: Object = binding.get("target") or {}
    kind, name = target.get("kind", ""), target.get("name", "")
    errors: list[FieldError] = []
    if kind not in ("", "Node"):
        errors.append(not_supported(_TARGET.child("kind"), kind, ("Node", "<empty>")))
    if not name:
        errors.append(required(_TARGET.child("name")))
    elif kind in ("", "Node"):
        errors += invalids(_TARGET.child("name"), name, is_dns1123_subdomain(name))
    return errors
