"""The status of a job, as the API answers it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from steersman.cluster.controllers.job.job_spec import Job
from steersman.cluster.controllers.job.tally import Counts
from steersman.cluster.controllers.job.verdict import Verdict
from steersman.objects.conditions import find_condition
from steersman.objects.kinds import Object
from steersman.objects.times import format_time

__all__ = ["decided", "finished", "normal", "started", "with_counts", "with_suspension"]


#: What is not told when it is zero or empty.
_OPTIONAL: Final = ("active", "succeeded", "failed", "completedIndexes")


def normal(status: Object) -> Object:
    """Without what the API leaves out."""
    return {name: value for name, value in status.items() if value or name not in _OPTIONAL}


def started(job: Object, now: datetime) -> Object:
    """The status of a job that may run: its time begins when it is first looked at."""
    status: Object = {"uncountedTerminatedPods": {}, **(job.get("status") or {})}
    if "startTime" not in status and not job["spec"].get("suspend"):
        status["startTime"] = format_time(now)
    return status


def with_counts(status: Object, counts: Counts) -> Object:
    return {
        **status,
        "active": counts.active,
        "ready": counts.ready,
        "terminating": counts.terminating,
    }


def with_suspension(job: Job, status: Object, now: datetime) -> Object:
    """Tells that the job is suspended, or that it is not any more; the very same status if that is told."""
    conditions = status.get("conditions") or []
    if job.suspended:
        new = _with(conditions, "Suspended", "True", "JobSuspended", "Job suspended", now)
        if new is conditions:
            return status
        return {name: value for name, value in status.items() if name != "startTime"} | {"conditions": new}
    if find_condition(conditions, "Suspended") is None:
        return status
    new = _with(conditions, "Suspended", "False", "JobResumed", "Job resumed", now)
    if new is conditions:
        return status
    # The deadline is about the time since the job was resumed.
    return {**status, "conditions": new, "startTime": format_time(now)}


def decided(status: Object, verdict: Verdict, now: datetime) -> Object:
    """Tells how the job will end; its pods may still be there."""
    conditions = status.get("conditions") or []
    if find_condition(conditions, verdict.interim) is not None:
        return status
    told = _with(conditions, verdict.interim, "True", verdict.reason, verdict.message, now)
    return {**status, "conditions": told}


def finished(status: Object, verdict: Verdict, now: datetime) -> Object:
    """Tells that the job is over."""
    conditions = status.get("conditions") or []
    told = _with(conditions, verdict.final, "True", verdict.reason, verdict.message, now)
    status = {**status, "conditions": told}
    if verdict.success:
        status["completionTime"] = format_time(now)
    return status


def _with(
    conditions: Sequence[Any], kind: str, state: str, reason: str, message: str, now: datetime
) -> Sequence[Any]:
    old = find_condition(conditions, kind)
    time = format_time(now)
    new = {
        "type": kind,
        "status": state,
        "lastProbeTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }
    if old is None:
        return [*conditions, new]
    if all(old.get(field) == new[field] for field in ("status", "reason", "message")):
        return conditions
    return [new if one is old else one for one in conditions]
