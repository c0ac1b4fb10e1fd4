"""When an object was created, and whether its deletion was requested: metadata's two timestamps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from steersman.objects.times import parse_time

__all__ = ["created_at", "is_deleting"]


def created_at(obj: Mapping[str, Any]) -> datetime:
    """When an object that an API server answered with was created."""
    return parse_time(obj["metadata"]["creationTimestamp"])


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Whether deletion of an object was requested: it is gone when nothing holds it any more."""
    return obj["metadata"].get("deletionTimestamp") is not None
