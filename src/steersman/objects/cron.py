"""Cron schedules as robfig/cron reads them: what a schedule means, or what is wrong with it, in its words.

Called by the validation of CronJobs, by their builder and by their controller, which knows when one fires
next.
"""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass, field
from typing import Final

from steersman.objects.durations import duration_ns
from steersman.objects.fields import quote

__all__ = ["CronTimes", "Every", "is_known_time_zone", "parse_schedule", "schedule_error"]


@dataclass(frozen=True, slots=True)
class CronTimes:
    """The minutes at which a schedule fires."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    #: 0 is Sunday.
    weekdays: frozenset[int]
    #: Whether any day of the month, or of the week, will do: then the other alone decides. If neither,
    #: one of both is enough.
    any_day: bool
    any_weekday: bool
    #: In whose time; None where the schedule does not say.
    zone: str | None


@dataclass(frozen=True, slots=True)
class Every:
    """A schedule that counts seconds from the time before."""

    seconds: int


@dataclass(frozen=True, slots=True)
class _Bounds:
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)


def _named(names: str, first: int) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


_FIELDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _named("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    _Bounds(0, 6, _named("sun mon tue wed thu fri sat", 0)),
)
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MAX_INT64: Final = 2**63 - 1
_SECOND_NS: Final = 10**9
_integer = re.compile("[+-]?[0-9]+").fullmatch


class _ScheduleError(ValueError):
    pass


def schedule_error(schedule: str) -> str:
    """Why this is no schedule; empty when it is one."""
    try:
        parse_schedule(schedule)
    except ValueError as error:
        return str(error)
    return ""


def is_known_time_zone(name: str) -> bool:
    if name in ("", "UTC", "Local"):
        return True
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def parse_schedule(schedule: str) -> CronTimes | Every:
    """What a schedule means. Raises ValueError in the words of `schedule_error`."""
    zone: str | None = None
    if not schedule:
        raise _ScheduleError("empty spec string")
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = schedule.partition("=")[2].partition(" ")
        if not space:
            # The library fails here, and the API server shows how.
            raise _ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        if not is_known_time_zone(zone):
            raise _ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
        schedule = rest.strip()
    if schedule.startswith("@"):
        if schedule not in _DESCRIPTORS:
            return _every(schedule)
        schedule = _DESCRIPTORS[schedule]
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        shown = " ".join(fields)
        raise _ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{shown}]")
    values = [_field(text, bounds) for text, bounds in zip(fields, _FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = values
    return CronTimes(minutes, hours, days, months, weekdays, any_day, any_weekday, zone)


def _field(text: str, bounds: _Bounds) -> tuple[frozenset[int], bool]:
    """The values of a field, and whether any will do."""
    ranges = [_range(expression, bounds) for expression in text.split(",") if expression]
    return frozenset(value for values, _ in ranges for value in values), any(star for _, star in ranges)


def _range(expression: str, bounds: _Bounds) -> tuple[range, bool]:
    """`low`, `low-high`, `*`, each with an optional `/step`; and whether it is all there is."""
    span, *steps = expression.split("/")
    ends = span.split("-")
    star = ends[0] in ("*", "?")
    if star:
        low, high = bounds.low, bounds.high
    else:
        low = high = _integer_or_name(ends[0], bounds)
        if len(ends) == 2:
            high = _integer_or_name(ends[1], bounds)
        elif len(ends) > 2:
            raise _ScheduleError(f"too many hyphens: {expression}")
    step = 1
    if len(steps) > 1:
        raise _ScheduleError(f"too many slashes: {expression}")
    if steps:
        step = _nonnegative(steps[0])
        if len(ends) == 1:
            high = bounds.high
    if low < bounds.low:
        raise _ScheduleError(f"beginning of range ({low}) below minimum ({bounds.low}): {expression}")
    if high > bounds.high:
        raise _ScheduleError(f"end of range ({high}) above maximum ({bounds.high}): {expression}")
    if low > high:
        raise _ScheduleError(f"beginning of range ({low}) beyond end of range ({high}): {expression}")
    if step == 0:
        raise _ScheduleError(f"step of range should be a positive number: {expression}")
    return range(low, high + 1, step), star and step == 1


def _integer_or_name(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _nonnegative(text) if named is None else named


def _nonnegative(text: str) -> int:
    problem = ""
    if not text.isascii() or not _integer(text):
        problem = "invalid syntax"
    elif abs(int(text)) > _MAX_INT64:
        problem = "value out of range"
    if problem:
        raise _ScheduleError(
            f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: {problem}"
        )
    number = int(text)
    if number < 0:
        raise _ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number


def _every(descriptor: str) -> Every:
    """Whole seconds, at least one."""
    every = "@every "
    if not descriptor.startswith(every):
        raise _ScheduleError(f"unrecognized descriptor: {descriptor}")
    try:
        nanoseconds = duration_ns(descriptor.removeprefix(every))
    except ValueError as error:
        raise _ScheduleError(f"failed to parse duration {descriptor}: {error}") from None
    return Every(max(1, nanoseconds // _SECOND_NS))
