"""The scheduled time of a CronJob to start a Job for now, and the time of the next check. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from steersman.cluster.controllers.cronjob.schedule import next_time
from steersman.objects.cron import CronTimes, Every
from steersman.objects.kinds.types.batch_v1 import CronJob
from steersman.objects.lifetime import created_at
from steersman.objects.times import parse_time

__all__ = ["Due", "due_start", "wait_s"]

Schedule = CronTimes | Every

#: More missed starts than this are worth a warning: a clock may be wrong.
_MANY: Final = 100
#: Clocks differ a little.
_PADDING: Final = timedelta(milliseconds=100)


@dataclass(frozen=True, slots=True)
class Due:
    """The most recent missed start of a CronJob, if any, and how many starts were missed."""

    #: Since when starts are looked for.
    since: datetime
    start: datetime | None
    missed: int = 0

    @property
    def too_many_missed(self) -> bool:
        return self.missed > _MANY


def due_start(cron_job: CronJob, schedule: Schedule, now: datetime, *, within_deadline: bool = True) -> Due:
    """The last start that should have been by now. Raises ValueError for a schedule that never fires."""
    since = created_at(cron_job)
    if last := (cron_job.get("status") or {}).get("lastScheduleTime"):
        since = parse_time(last)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if within_deadline and deadline is not None:
        since = max(since, now - timedelta(seconds=deadline))
    first = next_time(schedule, since)
    second = next_time(schedule, first) if first is not None else None
    if first is not None and now < first:
        return Due(since, None)
    if first is not None and second is not None and now < second:
        return Due(since, first)
    between_s = round((second - first).total_seconds()) if first and second else 0
    if first is None or between_s < 1:
        raise ValueError("time difference between two schedules is less than 1 second")
    # Counting by the first interval is rough, and enough to come close to now in one step.
    missed = int((now - first).total_seconds()) // between_s + 1
    start: datetime | None = None
    following = next_time(schedule, first + timedelta(seconds=(missed - 2) * between_s))
    while following is not None and following <= now:
        start = following
        following = next_time(schedule, following)
    return Due(since, start, missed)


def wait_s(cron_job: CronJob, schedule: Schedule, now: datetime) -> float:
    """How long until the next start."""
    try:
        due = due_start(cron_job, schedule, now, within_deadline=False)
        after = due.start or (now if due.missed else due.since)
    except ValueError:
        after = now
    following = next_time(schedule, after)
    if following is None:
        return 0.0
    return max(0.0, (following + _PADDING - now).total_seconds())
