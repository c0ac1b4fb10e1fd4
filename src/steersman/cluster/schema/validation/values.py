"""Checks of single values that several kinds share, for the modules of this package and for rules.txt."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.internal_values import Shape
from steersman.objects.metadata import (
    validate_annotations,
    validate_conditions,
    validate_label_name,
    validate_label_selector,
    validate_labels,
)

__all__ = [
    "OBJECT_REFERENCE",
    "validate_annotations",
    "validate_conditions",
    "validate_label_name",
    "validate_label_selector",
    "validate_labels",
]

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
