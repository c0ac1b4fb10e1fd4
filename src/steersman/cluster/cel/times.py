"""Timestamps and durations: parsing and formatting, and the parts of a timestamp in a time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.values import Duration, Timestamp

__all__ = [
    "civil",
    "format_duration",
    "format_timestamp",
    "make_duration",
    "make_timestamp",
    "parse_duration",
    "parse_timestamp",
]

SECOND: Final = 10**9
_LOWEST: Final = -62135596800 * SECOND  # 0001-01-01T00:00:00Z
_HIGHEST: Final = 253402300800 * SECOND  # 10000-01-01T00:00:00Z
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": SECOND,
    "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_PIECE: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_OFFSET: Final = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_LONGEST_NUMBER: Final = 40


def make_timestamp(nanos: int, offset: int = 0) -> Timestamp:
    if not _LOWEST <= nanos < _HIGHEST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos, offset)


def make_duration(nanos: int) -> Duration:
    if not -(2**63) <= nanos < 2**63:
        raise EvaluationError("duration overflow")
    return Duration(nanos)


def parse_timestamp(text: str) -> Timestamp:
    """RFC 3339. Raises ValueError when it is not, EvaluationError when it is too far away."""
    matched = _TIMESTAMP.fullmatch(text)
    if matched is None:
        raise ValueError(f"not a time: {text}")
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = matched.groups()
    moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    offset = (int(hours) * 3600 + int(minutes) * 60) * (1 if sign == "+" else -1) if sign else 0
    return make_timestamp((seconds - offset) * SECOND + int(((fraction or "") + "0" * 9)[:9]), offset)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def format_timestamp(moment: Timestamp) -> str:
    seconds, nanos = divmod(moment.nanos, SECOND)
    at = _EPOCH + timedelta(seconds=seconds + moment.offset)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    zone = "Z"
    if moment.offset:
        hours, minutes = divmod(abs(moment.offset) // 60, 60)
        zone = f"{'+' if moment.offset > 0 else '-'}{hours:02d}:{minutes:02d}"
    return f"{at.year:04d}-{at:%m-%dT%H:%M:%S}{fraction}{zone}"


def parse_duration(text: str) -> Duration:
    """Go's notation: `1h30m`, `-1.5s`. Raises ValueError when it is not, EvaluationError when too long."""
    body = text[1:] if text[:1] in {"-", "+"} else text
    if body == "0":
        return Duration(0)
    at, total = 0, Decimal(0)
    while (piece := _PIECE.match(body, at)) is not None and len(piece.group(1)) <= _LONGEST_NUMBER:
        total += Decimal(piece.group(1)) * _UNITS[piece.group(2)]
        at = piece.end()
    if not body or at < len(body):
        raise ValueError(f"not a duration: {text}")
    return make_duration(-int(total) if text.startswith("-") else int(total))


def format_duration(duration: Duration) -> str:
    seconds, nanos = divmod(abs(duration.nanos), SECOND)
    sign = "-" if duration.nanos < 0 else ""
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{sign}{seconds}{fraction}s"


def civil(moment: Timestamp, zone: str = "UTC") -> datetime:
    """The calendar date and time of day in a zone (`Europe/Berlin`, `-02:00`), to the microsecond."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    at = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    try:
        return at.astimezone(_zone(zone))
    except OverflowError as error:
        raise EvaluationError("timestamp overflow") from error


def _zone(name: str) -> tzinfo:
    if name in {"", "UTC"}:
        return UTC
    if (offset := _OFFSET.fullmatch(name)) is not None:
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        if shift >= timedelta(hours=24):
            raise EvaluationError(f"unknown time zone {name}")
        return timezone(-shift if offset[1] == "-" else shift)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise EvaluationError(f"unknown time zone {name}") from error
