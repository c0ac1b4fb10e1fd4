"""Timestamps as objects carry them, and durations as people read them.

`metadata.creationTimestamp` and its like are RFC 3339 with whole seconds in UTC, leases and events
have microseconds. Nothing here looks at a clock: the caller says what time it is.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from steersman.objects.errors import TimeError

__all__ = [
    "canonical_micro_time",
    "canonical_time",
    "format_micro_time",
    "format_time",
    "human_duration",
    "parse_time",
    "short_human_duration",
]

_rfc3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
).fullmatch
_canonical = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII).fullmatch


def parse_time(text: str) -> datetime:
    """An aware datetime, in UTC; finer than microseconds is cut off. Raises TimeError."""
    matched = _rfc3339(text)
    if matched is None:
        raise TimeError(f"not an RFC 3339 time: {text}")
    year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = matched.groups()
    try:
        offset = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
        zone = timezone(-offset if sign == "-" else offset) if sign else UTC
        micros = int((fraction or "")[:6].ljust(6, "0"))
        moment = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second), micros, tzinfo=zone
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise TimeError(f"not an RFC 3339 time: {text}") from None


def format_time(moment: datetime) -> str:
    """As `metadata.creationTimestamp` shows it: UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def format_micro_time(moment: datetime) -> str:
    """As a lease's renewTime shows it: UTC, microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)


def canonical_time(text: str) -> str:
    """The spelling under which the API server stores this time."""
    moment = parse_time(text)  # also what looks canonical may name no moment (31 February)
    return text if _canonical(text) else format_time(moment)


def canonical_micro_time(text: str) -> str:
    return format_micro_time(parse_time(text))


_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


def human_duration(seconds: float) -> str:
    """An age with two or three significant figures: "5m", "3h12m", "2d4h", "<invalid>"."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two_units(whole, "m", _MINUTE, "s", 1)
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two_units(whole, "h", _HOUR, "m", _MINUTE)
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two_units(whole, "d", _DAY, "h", _HOUR)
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two_units(whole, "y", _YEAR, "d", _DAY)
    return f"{whole // _YEAR}y"


def _two_units(seconds: int, big: str, big_length: int, small: str, small_length: int) -> str:
    rest = seconds % big_length // small_length
    return f"{seconds // big_length}{big}" + (f"{rest}{small}" if rest else "")


def short_human_duration(seconds: float) -> str:
    """An age in one unit."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    for unit, length in (("y", _YEAR), ("d", _DAY), ("h", _HOUR), ("m", _MINUTE)):
        if whole >= length:
            return f"{whole // length}{unit}"
    return f"{whole}s"
