"""IntOrString values such as maxSurge: a number of pods (`2`) or a percentage of a total (`"25%"`). Pure."""

from __future__ import annotations

import math

__all__ = ["scaled_value"]


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """The number of pods. Raises ValueError for other strings, which API validation refuses."""
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise ValueError(f"invalid value {value!r}: not a percentage")
    share = int(value[:-1]) * total / 100
    return math.ceil(share) if round_up else math.floor(share)
