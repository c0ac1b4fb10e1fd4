"""The status of a Job: counts, conditions and index lists in the API's form. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final, cast

from steersman.cluster.controllers.job.job_spec import JobState
from steersman.cluster.controllers.job.tally import Counts
from steersman.cluster.controllers.job.verdict import JobVerdict
from steersman.objects.conditions import find_condition
from steersman.objects.kinds.types import batch_v1
from steersman.objects.kinds.types.batch_v1 import JobCondition, JobStatus
from steersman.objects.times import format_time

__all__ = ["decided", "finished", "normal", "started", "with_counts", "with_suspension"]


#: What is not told when it is zero or empty.
_OPTIONAL: Final = ("active", "succeeded", "failed", "completedIndexes")


def normal(status: JobStatus) -> JobStatus:
    """Without what the API leaves out."""
    kept = {name: value for name, value in status.items() if value or name not in _OPTIONAL}
    return cast("JobStatus", kept)


def started(job: batch_v1.Job, now: datetime) -> JobStatus:
    """The status of a job that may run: its time begins when it is first looked at."""
    old: JobStatus = job.get("status") or {}
    status: JobStatus = {"uncountedTerminatedPods": {}, **old}
    if "startTime" not in status and not job["spec"].get("suspend"):
        status["startTime"] = format_time(now)
    return status


def with_counts(status: JobStatus, counts: Counts) -> JobStatus:
    return {
        **status,
        "active": counts.active,
        "ready": counts.ready,
        "terminating": counts.terminating,
    }


def with_suspension(job: JobState, status: JobStatus, now: datetime) -> JobStatus:
    """Tells that the job is suspended, or that it is not any more; the very same status if that is told."""
    conditions = status.get("conditions") or []
    if job.suspended:
        new = _with(conditions, "Suspended", "True", "JobSuspended", "Job suspended", now)
        if new is conditions:
            return status
        paused: JobStatus = {**status, "conditions": new}
        paused.pop("startTime", None)
        return paused
    if find_condition(conditions, "Suspended") is None:
        return status
    new = _with(conditions, "Suspended", "False", "JobResumed", "Job resumed", now)
    if new is conditions:
        return status
    # The deadline is about the time since the job was resumed.
    return {**status, "conditions": new, "startTime": format_time(now)}


def decided(status: JobStatus, verdict: JobVerdict, now: datetime) -> JobStatus:
    """Tells how the job will end; its pods may still be there."""
    conditions = status.get("conditions") or []
    if find_condition(conditions, verdict.interim) is not None:
        return status
    told = _with(conditions, verdict.interim, "True", verdict.reason, verdict.message, now)
    return {**status, "conditions": told}


def finished(status: JobStatus, verdict: JobVerdict, now: datetime) -> JobStatus:
    """Tells that the job is over."""
    conditions = status.get("conditions") or []
    told = _with(conditions, verdict.final, "True", verdict.reason, verdict.message, now)
    status = {**status, "conditions": told}
    if verdict.success:
        status["completionTime"] = format_time(now)
    return status


def _with(
    conditions: list[JobCondition], kind: str, state: str, reason: str, message: str, now: datetime
) -> list[JobCondition]:
    old = find_condition(conditions, kind)
    time = format_time(now)
    new: JobCondition = {
        "type": kind,
        "status": state,
        "lastProbeTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }
    if old is None:
        return [*conditions, new]
    if all(old.get(field) == new.get(field) for field in ("status", "reason", "message")):
        return conditions
    return [new if one is old else one for one in conditions]
