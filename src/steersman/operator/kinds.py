"""Objects by their Python class, or as plain dicts by their `ResourceType`: one way to handle both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from steersman.objects.resource_type import ResourceType, Typed

__all__ = ["Kind", "made_from", "resource_of"]

T = TypeVar("T", bound=Typed)

#: What names a resource in this package's calls.
Kind = ResourceType | type[Typed]


def resource_of(kind: Kind) -> ResourceType:
    return kind if isinstance(kind, ResourceType) else kind.resource_type


def made_from(kind: Kind, obj: Mapping[str, Any]) -> Any:
    """An object as the caller's kind: an instance of the class, or the dict itself."""
    return obj if isinstance(kind, ResourceType) else kind.from_object(obj)
