"""Finalizers of custom resources: any may be set, odd ones are warned of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from steersman.objects.fields import quote
from steersman.objects.names import is_label_key

__all__ = ["finalizer_warnings"]

_STANDARD: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def finalizer_warnings(obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """The warnings of a write, about the finalizers it adds."""
    added = set(_finalizers(obj)) - set(_finalizers(old or {}))
    return [f"metadata.finalizers: {quote(name)}: {text}" for name in sorted(added) for text in _texts(name)]


def _finalizers(obj: dict[str, Any]) -> Iterable[str]:
    return (obj.get("metadata") or {}).get("finalizers") or ()


def _texts(name: str) -> list[str]:
    texts = is_label_key(name)
    if "/" not in name and name not in _STANDARD:
        path = " including a path (/)" if "." in name else ""
        texts.append(
            f"prefer a domain-qualified finalizer name{path} "
            "to avoid accidental conflicts with other finalizer writers"
        )
    return texts
