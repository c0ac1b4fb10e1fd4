"""How messages show values of Kubernetes' internal types: by their Go names, with nothing left out.

The API server validates an internal twin of each object, whose structs carry no JSON names; where a
message shows such a struct, clients see the Go names. Each module lists the few it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Shape", "as_internal"]

#: JSON name, Go name and zero value of each field, in Go's order.
Shape = Sequence[tuple[str, str, Any]]


def as_internal(value: Mapping[str, Any] | None, shape: Shape) -> dict[str, Any] | None:
    """The value as Go would marshal its internal twin; a missing one is null."""
    if value is None:
        return None
    return {go: value.get(name, zero) for name, go, zero in shape}
