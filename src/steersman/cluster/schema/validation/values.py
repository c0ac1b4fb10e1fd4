"""Checks of single values that several kinds share, for the modules of this package and for rules.txt."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.internal_values import Shape
from steersman.objects.fields import FieldError, Path, not_supported, required
from steersman.objects.metadata import (
    validate_annotations,
    validate_conditions,
    validate_label_name,
    validate_label_selector,
    validate_labels,
)

__all__ = [
    "OBJECT_REFERENCE",
    "PROTOCOLS",
    "one_of",
    "validate_annotations",
    "validate_conditions",
    "validate_label_name",
    "validate_label_selector",
    "validate_labels",
    "validate_protocol",
]

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")

#: How messages show a reference to an object.
OBJECT_REFERENCE: Final[Shape] = (
    ("kind", "Kind", ""),
    ("namespace", "Namespace", ""),
    ("name", "Name", ""),
    ("uid", "UID", ""),
    ("apiVersion", "APIVersion", ""),
    ("resourceVersion", "ResourceVersion", ""),
    ("fieldPath", "FieldPath", ""),
)


def one_of(path: Path, value: str, supported: tuple[str, ...]) -> list[FieldError]:
    """A value that must be there and be one of these."""
    if not value:
        return [required(path)]
    return [] if value in supported else [not_supported(path, value, supported)]


def validate_protocol(protocol: str, path: Path) -> list[FieldError]:
    return one_of(path, protocol, PROTOCOLS)
