"""Leaves out of an object what Go's `omitempty` leaves out: zero, false, the empty string, list and map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

__all__ = ["omit_empty"]

T = TypeVar("T", bound=Mapping[str, Any])


def omit_empty(obj: T) -> T:
    """The object without fields that are empty, those of nested objects left as they are."""
    return cast("T", {name: value for name, value in obj.items() if value})
