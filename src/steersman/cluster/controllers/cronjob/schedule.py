"""The times of a cron schedule: the next one after a given time. Pure.

Days are those of the schedule's time zone. When its clocks go forward, times in the skipped hour do not
occur; when they go back, times in the repeated hour occur twice.
"""

from __future__ import annotations

import zoneinfo
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from steersman.objects.cron import CronTimes, Every

__all__ = ["next_time", "time_zone"]

#: A schedule that does not fire in this many years does not fire at all.
_YEARS: Final = 5


def time_zone(name: str | None) -> tzinfo:
    """Where nobody says, the cluster's time is UTC."""
    return UTC if name in (None, "", "UTC", "Local") else zoneinfo.ZoneInfo(name)


def next_time(schedule: CronTimes | Every, after: datetime) -> datetime | None:
    """The first time after `after`, in UTC; None if there is none."""
    after = after.astimezone(UTC)
    if isinstance(schedule, Every):
        return after.replace(microsecond=0) + timedelta(seconds=schedule.seconds)
    zone = time_zone(schedule.zone)
    time = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    day = time.astimezone(zone).date()
    last_year = day.year + _YEARS
    while day.year <= last_year:
        if _fires_on(schedule, day):
            found = _on_day(schedule, zone, day, time)
            if found is not None:
                return found
        day = _next_day(schedule, day)
        time = max(time, _begin(day, zone))
    return None


def _fires_on(schedule: CronTimes, day: date) -> bool:
    if day.month not in schedule.months:
        return False
    of_month = day.day in schedule.days
    of_week = day.isoweekday() % 7 in schedule.weekdays
    if schedule.any_day or schedule.any_weekday:
        return of_month and of_week
    return of_month or of_week


def _next_day(schedule: CronTimes, day: date) -> date:
    if day.month in schedule.months:
        return day + timedelta(days=1)
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _begin(day: date, zone: tzinfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _on_day(schedule: CronTimes, zone: tzinfo, day: date, time: datetime) -> datetime | None:
    """The first time of the day that is not before `time`."""
    while (local := time.astimezone(zone)).date() == day:
        left = [minute for minute in schedule.minutes if minute >= local.minute]
        if local.hour not in schedule.hours or not left:
            time += timedelta(minutes=60 - local.minute)
        elif (wait := min(left) - local.minute) == 0:
            return time
        else:
            time += timedelta(minutes=wait)
    return None
