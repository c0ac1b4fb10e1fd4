"""How messages show values of Kubernetes' internal types: by their Go names, with nothing left out.

The API server validates an internal twin of each object, whose structs carry no JSON names; where a
message shows such a struct, clients see the Go names. Each module lists the few it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Nested", "Shape", "as_internal"]

#: JSON name, Go name and zero value of each field, in Go's order.
Shape = Sequence[tuple[str, str, Any]]


@dataclass(frozen=True, slots=True)
class Nested:
    """Stands for the zero value of a field that holds a struct, a pointer to one or a list of them."""

    shape: Shape
    zero: Any = None


def as_internal(value: Mapping[str, Any] | None, shape: Shape) -> dict[str, Any] | None:
    """The value as Go would marshal its internal twin; a missing one is null."""
    if value is None:
        return None
    return {go: _shown(value.get(name), zero) for name, go, zero in shape}


def _shown(value: Any, zero: Any) -> Any:
    if not isinstance(zero, Nested):
        return zero if value is None else value
    if value is None:
        return zero.zero
    if isinstance(value, list):
        return [as_internal(item, zero.shape) for item in value]
    return as_internal(value, zero.shape)
