"""Updates of a Job's status: counters, conditions that exclude or need each other, lists of indexes.

Most rules look only at what the update changes, so that a status that was accepted once can be kept.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.rules import ValuelessError
from steersman.objects.conditions import condition_is
from steersman.objects.fields import FieldError, Path, duplicate, invalid, quote, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_nonnegative
from steersman.objects.times import parse_time

__all__ = ["IndexesError", "count_indexes", "validate_job_status"]

_STATUS: Final = Path("status")
_CONDITIONS: Final = _STATUS.child("conditions")


class IndexesError(ValueError):
    """A list of indexes like `1,3-5` that cannot be read, or is not ascending."""


class _Job:
    """The facts about one version of a Job that the rules compare."""

    __slots__ = (
        "complete",
        "failed",
        "failure_target",
        "finished",
        "resumed",
        "spec",
        "status",
        "success",
        "suspended",
    )

    def __init__(self, job: Object) -> None:
        self.spec: Object = job.get("spec") or {}
        self.status: Object = job.get("status") or {}
        conditions = self.status.get("conditions") or []
        self.complete = condition_is(conditions, "Complete")
        self.failed = condition_is(conditions, "Failed")
        self.failure_target = condition_is(conditions, "FailureTarget")
        self.success = condition_is(conditions, "SuccessCriteriaMet")
        self.suspended = condition_is(conditions, "Suspended")
        self.resumed = condition_is(conditions, "Suspended", "False")
        self.finished = self.complete or self.failed


def validate_job_status(new: Object, path: Path, old: Object) -> list[FieldError]:
    job, before = _Job(new), _Job(old)
    errors = _validate_counters(job.status)
    errors += _validate_completion(job, before)
    errors += _validate_finished(job, before)
    errors += _validate_indexes(job, before)
    errors += _validate_running(job, before)
    return errors + _validate_transition(job, before)


def _changed(job: _Job, before: _Job, *fields: str) -> bool:
    return any(job.status.get(field) != before.status.get(field) for field in fields)


def _validate_counters(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("active", "succeeded", "failed", "ready", "terminating"):
        errors += validate_nonnegative(status.get(field) or 0, _STATUS.child(field))
    pods: Object = status.get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for number, uid in enumerate(pods.get(field) or ()):
            here = _STATUS.child("uncountedTerminatedPods", field).index(number)
            if not uid:
                errors.append(invalid(here, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(here, uid))
            seen.add(uid)
    return errors


def _validate_completion(job: _Job, before: _Job) -> list[FieldError]:
    errors: list[FieldError] = []
    completed = job.complete != before.complete
    if (completed or job.failed != before.failed) and job.complete and job.failed:
        errors.append(ValuelessError(_CONDITIONS, "cannot set Complete=True and Failed=true conditions"))
    targeted = job.failure_target != before.failure_target
    if (completed or targeted) and job.complete and job.failure_target:
        errors.append(
            ValuelessError(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions")
        )
    started, ended = job.status.get("startTime"), job.status.get("completionTime")
    here = _STATUS.child("completionTime")
    if completed or _changed(job, before, "completionTime"):
        if ended is not None and not job.complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid(here, ended, text))
        if ended is None and job.complete:
            errors.append(required(here, "completionTime is required for Complete jobs"))
    if (
        _changed(job, before, "startTime", "completionTime")
        and started
        and ended
        and _time(ended) < _time(started)
    ):
        errors.append(invalid(here, ended, "must be equal to or after `startTime`"))
    indexes_changed = _changed(job, before, "failedIndexes")
    if (job.failed != before.failed or indexes_changed) and job.failed and not job.failure_target:
        text = "cannot set Failed=True condition without the FailureTarget=true condition"
        errors.append(ValuelessError(_CONDITIONS, text))
    if (completed or job.success != before.success) and job.complete and not job.success:
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.append(ValuelessError(_CONDITIONS, text))
    return errors


def _time(text: str) -> datetime:
    return parse_time(text)


def _validate_finished(job: _Job, before: _Job) -> list[FieldError]:
    if not job.finished:
        return []
    errors: list[FieldError] = []
    status = job.status
    finished = not before.finished
    active, pods = status.get("active", 0), status.get("uncountedTerminatedPods")
    if (finished or _changed(job, before, "active")) and active > 0:
        errors.append(invalid(_STATUS.child("active"), active, "active>0 is invalid for finished job"))
    idle = job.spec.get("suspend") and job.spec.get("completions") == 0
    if (finished or _changed(job, before, "startTime")) and not idle and status.get("startTime") is None:
        errors.append(required(_STATUS.child("startTime"), "startTime is required for finished job"))
    if (finished or _changed(job, before, "uncountedTerminatedPods")) and pods and any(pods.values()):
        shown = internal_form("UncountedTerminatedPods", pods)
        errors.append(
            invalid(_STATUS.child("uncountedTerminatedPods"), shown, "must be empty for finished job")
        )
    return errors


def _validate_indexes(job: _Job, before: _Job) -> list[FieldError]:
    errors: list[FieldError] = []
    completions = job.spec.get("completions")
    per_index = job.spec.get("backoffLimitPerIndex") is not None
    done, failed = job.status.get("completedIndexes", ""), job.status.get("failedIndexes")
    done_changed = _changed(job, before, "completedIndexes")
    failed_changed = _changed(job, before, "failedIndexes")
    done_path, failed_path = _STATUS.child("completedIndexes"), _STATUS.child("failedIndexes")
    if done_changed and completions is not None:
        errors += _unreadable(done, completions, "completedIndexes", done_path)
    if failed_changed and completions is not None and per_index and failed is not None:
        errors += _unreadable(failed, completions, "failedIndexes", failed_path)
    if done_changed and done and job.spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid(done_path, done, text))
    if failed_changed and not per_index and failed is not None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid(failed_path, failed, text))
    if (done_changed or failed_changed) and completions is not None and failed is not None:
        overlap = sorted(_indexes(done, completions) & _indexes(failed, completions))
        if overlap:
            text = f"failedIndexes and completedIndexes overlap at index: {overlap[0]}"
            errors.append(invalid(failed_path, failed, text))
    return errors


def _unreadable(text: str, completions: int, what: str, path: Path) -> list[FieldError]:
    try:
        count_indexes(text, completions)
    except IndexesError as error:
        return [invalid(path, text, f"error parsing {what}: {error}")]
    return []


def _validate_running(job: _Job, before: _Job) -> list[FieldError]:
    errors: list[FieldError] = []
    terminating, ready = job.status.get("terminating") or 0, job.status.get("ready")
    changed = job.finished != before.finished or _changed(job, before, "terminating")
    if changed and job.finished and terminating > 0:
        text = "terminating>0 is invalid for finished job"
        errors.append(invalid(_STATUS.child("terminating"), terminating, text))
    more = ready is not None and ready > job.status.get("active", 0)
    if more and _changed(job, before, "ready", "active"):
        errors.append(invalid(_STATUS.child("ready"), ready, "cannot set more ready pods than active"))
    for other, name in ((job.failed, "Failed"), (job.failure_target, "FailureTarget")):
        if job.success and other:
            text = f"cannot set SuccessCriteriaMet=True and {name}=true conditions"
            errors.append(ValuelessError(_CONDITIONS, text))
    if job.spec.get("successPolicy") is not None and job.complete and not job.success:
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(ValuelessError(_CONDITIONS, text))
    return errors


def _validate_transition(job: _Job, before: _Job) -> list[FieldError]:
    errors: list[FieldError] = []
    for kept, had, name in (
        (job.failed, before.failed, "Failed"),
        (job.complete, before.complete, "Complete"),
        (job.failure_target, before.failure_target, "FailureTarget"),
    ):
        if had and not kept:
            errors.append(ValuelessError(_CONDITIONS, f"cannot disable the terminal {name}=True condition"))
    counters = ["failed"]
    indexed = job.spec.get("completionMode") == "Indexed"
    # An indexed job that is scaled down forgets what succeeded beyond its new end.
    if not indexed or job.spec.get("completions") != job.spec.get("parallelism"):
        counters.append("succeeded")
    for field in counters:
        count = job.status.get(field, 0)
        if count < before.status.get(field, 0):
            errors.append(invalid(_STATUS.child(field), count, f"cannot decrease the {field} counter"))
    ended, started = job.status.get("completionTime"), job.status.get("startTime")
    if ended and before.status.get("completionTime") and _changed(job, before, "completionTime"):
        errors.append(invalid(_STATUS.child("completionTime"), ended, "field is immutable"))
    resuming = before.suspended and job.resumed
    moved = before.status.get("startTime") is not None and _changed(job, before, "startTime")
    if moved and not resuming and not job.spec.get("suspend"):
        text = "field is immutable for unsuspended job once set"
        errors.append(invalid(_STATUS.child("startTime"), started, text))
    if before.success and not job.success:
        errors.append(ValuelessError(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition"))
    if before.complete and not before.success and job.success:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(ValuelessError(_CONDITIONS, text))
    return errors


# --- Lists of indexes


def count_indexes(text: str, completions: int) -> int:
    """How many indexes `1,3-5` names, all below `completions`. Raises IndexesError."""
    last: int | None = None
    total = 0
    for interval in text.split(",") if text else ():
        low, high = _interval(interval, completions)
        if last is not None and last >= low:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {low}")
        total += high - low + 1
        last = high
    return total


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f"the fragment {quote(text)} violates the requirement that an index interval can have "
            "at most two parts separated by '-'"
        )
    numbers = []
    for limit in limits:
        try:
            number = int(limit)
        except ValueError:
            raise IndexesError(f"cannot convert string to integer for index: {quote(limit)}") from None
        if number >= completions:
            raise IndexesError(f"too large index: {quote(limit)}")
        numbers.append(number)
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _indexes(text: str, completions: int) -> set[int]:
    """What can be read of the list; the rest is reported elsewhere."""
    found: set[int] = set()
    for interval in text.split(",") if text else ():
        try:
            low, high = _interval(interval, completions)
        except IndexesError:
            continue
        found.update(range(low, high + 1))
    return found
