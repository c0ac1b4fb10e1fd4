"""An object's labels and annotations: empty when metadata has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["annotations_of", "labels_of"]


def labels_of(obj: Mapping[str, Any]) -> dict[str, str]:
    labels: dict[str, str] | None = obj["metadata"].get("labels")
    return labels or {}


def annotations_of(obj: Mapping[str, Any]) -> dict[str, str]:
    annotations: dict[str, str] | None = obj["metadata"].get("annotations")
    return annotations or {}
