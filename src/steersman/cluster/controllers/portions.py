"""Numbers of pods given as a number or as a percentage of a total: `2`, `"25%"`. Pure."""

from __future__ import annotations

import math

__all__ = ["portion"]


def portion(value: int | str, total: int, *, round_up: bool) -> int:
    """Raises ValueError for what is neither; the API lets no such thing in."""
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise ValueError(f"invalid value {value!r}: not a percentage")
    share = int(value[:-1]) * total / 100
    return math.ceil(share) if round_up else math.floor(share)
