"""The parts of timestamps and durations: `t.getFullYear('Europe/Berlin')`, `d.getHours()`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from steersman.cluster.cel.functions import Function, Overload, function, member
from steersman.cluster.cel.times import civil
from steersman.cluster.cel.types import DURATION, INT, STRING, TIMESTAMP
from steersman.cluster.cel.values import Duration, Frame, Timestamp

__all__ = ["FUNCTIONS"]

_TIMESTAMP_PARTS: Final[dict[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
_DURATION_UNITS: Final = {
    "getHours": 3600 * 10**9,
    "getMinutes": 60 * 10**9,
    "getSeconds": 10**9,
    "getMilliseconds": 10**6,
}


def _of_timestamp(part: Callable[[datetime], int]) -> Any:
    def run(_frame: Frame, moment: Timestamp, zone: str = "UTC") -> int:
        return part(civil(moment, zone))

    return run


def _of_duration(unit: int) -> Any:
    def run(_frame: Frame, duration: Duration) -> int:
        whole = abs(duration.nanos) // unit
        return whole if duration.nanos >= 0 else -whole

    return run


def _overloads(name: str) -> list[Overload]:
    run = _of_timestamp(_TIMESTAMP_PARTS[name])
    found = [
        member(f"timestamp_{name}", [TIMESTAMP], INT, run),
        member(f"timestamp_{name}_with_tz", [TIMESTAMP, STRING], INT, run),
    ]
    if name in _DURATION_UNITS:
        found.append(member(f"duration_{name}", [DURATION], INT, _of_duration(_DURATION_UNITS[name])))
    return found


FUNCTIONS: Final[list[Function]] = [function(name, *_overloads(name)) for name in _TIMESTAMP_PARTS]
