"""The tables of the batch group: jobs and cron jobs."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    container_cells,
    name_of,
    seconds,
    since,
    wide,
)
from steersman.objects.conditions import condition_is
from steersman.objects.jobs import finished_condition
from steersman.objects.kinds import Object
from steersman.objects.selectors import format_label_selector
from steersman.objects.times import human_duration

__all__ = ["TABLES"]


def _job(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        _job_status(obj),
        _completions(obj),
        _duration(obj, now),
        age(obj, now),
        *container_cells(at(obj, "spec", "template", "spec")),
        format_label_selector(at(obj, "spec", "selector")),
    ]


def _job_status(obj: Object) -> str:
    if (finished := finished_condition(obj)) is not None:
        return finished
    if at(obj, "metadata", "deletionTimestamp") is not None:
        return "Terminating"
    for word in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition_is(at(obj, "status", "conditions"), word):
            return word
    return "Running"


def _completions(obj: Object) -> str:
    succeeded = at(obj, "status", "succeeded", default=0)
    wanted = at(obj, "spec", "completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    # A work queue is complete with its first success, however many pods work on it.
    workers = at(obj, "spec", "parallelism", default=0)
    return f"{succeeded}/1 of {workers}" if workers > 1 else f"{succeeded}/1"


def _duration(obj: Object, now: float) -> str:
    start = at(obj, "status", "startTime")
    end = at(obj, "status", "completionTime")
    if start is None:
        return ""
    return human_duration((seconds(end) if end is not None else now) - seconds(start))


def _cron_job(obj: Object, now: float) -> Cells:
    suspend = at(obj, "spec", "suspend")
    last = at(obj, "status", "lastScheduleTime")
    return [
        name_of(obj),
        at(obj, "spec", "schedule", default=""),
        at(obj, "spec", "timeZone", default=NONE),
        UNSET if suspend is None else str(bool(suspend)),
        len(at(obj, "status", "active", default=())),
        NONE if last is None else since(last, now),
        age(obj, now),
        *container_cells(at(obj, "spec", "jobTemplate", "spec", "template", "spec")),
        format_label_selector(at(obj, "spec", "jobTemplate", "spec", "selector")),
    ]


_TEMPLATE = (
    wide("Containers", "The names of the containers."),
    wide("Images", "The images of the containers."),
    wide("Selector", "Which pods belong to it."),
)

TABLES = {
    ("batch", "cronjobs"): Table(
        (
            NAME,
            ColumnDefinition("Schedule", "When it runs, in cron's notation."),
            ColumnDefinition("Timezone", "The time zone of the schedule."),
            ColumnDefinition("Suspend", "Whether it is held.", "boolean"),
            ColumnDefinition("Active", "How many of its jobs run now.", "integer"),
            ColumnDefinition("Last Schedule", "How long ago it last started a job."),
            AGE,
            *_TEMPLATE,
        ),
        _cron_job,
    ),
    ("batch", "jobs"): Table(
        (
            NAME,
            ColumnDefinition("Status", "How the job is doing, in one word."),
            ColumnDefinition("Completions", "How many pods succeeded, of those wanted."),
            ColumnDefinition("Duration", "How long it has run, or ran."),
            AGE,
            *_TEMPLATE,
        ),
        _job,
    ),
}
