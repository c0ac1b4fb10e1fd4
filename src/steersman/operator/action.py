"""What a reconcile asks for when it is over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["Action", "seconds"]


def seconds(duration: float | timedelta) -> float:
    """A duration in seconds, however it was given. Raises ValueError when it is negative."""
    value = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if value < 0:
        raise ValueError(f"a duration cannot be negative: {duration}")
    return value


@dataclass(frozen=True, slots=True)
class Action:
    """`Action.requeue(300)`: look again in five minutes. `Action.done()`: when something changes."""

    #: None: only a change, or a resync, brings the object back.
    after_s: float | None = None

    @classmethod
    def requeue(cls, after: float | timedelta) -> Action:
        return cls(seconds(after))

    @classmethod
    def done(cls) -> Action:
        return cls()
