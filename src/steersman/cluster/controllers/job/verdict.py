"""Whether a Job is finished (complete or failed), and the reason of its condition. Pure.

What was decided once stays so; then failures come before successes:

| the job                                        | reason                   |
|------------------------------------------------|--------------------------|
| was decided before                             | the earlier reason       |
| has a pod that its failure policy dooms it for | PodFailurePolicy         |
| failed more often than it may                  | BackoffLimitExceeded     |
| runs for longer than it may                    | DeadlineExceeded         |
| has too many failed indexes                    | MaxFailedIndexesExceeded |
| has no index left to do, and failed ones       | FailedIndexes            |
| fulfils its success policy                     | SuccessPolicy            |

Whether all completions are reached (`completed`) is checked after pods were created and deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from steersman.cluster.controllers.job.job_spec import JobState
from steersman.cluster.controllers.job.policies import judge_failure, success_message
from steersman.cluster.controllers.job.tally import JobTally
from steersman.objects.conditions import find_condition
from steersman.objects.times import parse_time

__all__ = ["JobVerdict", "completed", "deadline_s", "judge"]


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """The finished condition of a Job: complete or failed, with reason and message."""

    success: bool
    reason: str
    message: str

    @property
    def interim(self) -> str:
        """The condition that tells of it while pods are still there."""
        return "SuccessCriteriaMet" if self.success else "FailureTarget"

    @property
    def final(self) -> str:
        return "Complete" if self.success else "Failed"


_COMPLETED: Final = JobVerdict(True, "CompletionsReached", "Reached expected number of succeeded pods")


def judge(tally: JobTally, now: datetime) -> JobVerdict | None:
    job = tally.job
    return (
        _decided(job)
        or _doomed(tally)
        or _past_limits(tally, now)
        or _by_failed_indexes(tally)
        or _by_success_policy(tally)
    )


def completed(tally: JobTally, active: int) -> JobVerdict | None:
    """Whether all is done, given how many pods are still at it."""
    completions = tally.job.completions
    enough = tally.succeeded > 0 if completions is None else tally.succeeded >= completions
    return _COMPLETED if enough and not active else None


def deadline_s(job: JobState, now: datetime) -> float | None:
    """How long the job may still run; None if nobody says."""
    limit, start = job.spec.get("activeDeadlineSeconds"), job.start_time
    if limit is None or start is None or job.suspended:
        return None
    return float(limit - (now - parse_time(start)).total_seconds())


def _decided(job: JobState) -> JobVerdict | None:
    for success, kind in ((True, "SuccessCriteriaMet"), (False, "FailureTarget")):
        condition = find_condition(job.status.get("conditions"), kind)
        if condition is not None and condition["status"] == "True":
            return JobVerdict(success, condition.get("reason", ""), condition.get("message", ""))
    return None


def _doomed(tally: JobTally) -> JobVerdict | None:
    job = tally.job
    if not job.spec.get("podFailurePolicy"):
        return None
    for pod in tally.pods:
        if job.considers_failed(pod) and (message := judge_failure(job, pod).message):
            return JobVerdict(False, "PodFailurePolicy", message)
    return None


def _past_limits(tally: JobTally, now: datetime) -> JobVerdict | None:
    job = tally.job
    if tally.failed > job.backoff_limit or _restarted_too_often(tally):
        message = "Job has reached the specified backoff limit"
        return JobVerdict(False, "BackoffLimitExceeded", message)
    left_s = deadline_s(job, now)
    if left_s is not None and left_s <= 0:
        return JobVerdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def _restarted_too_often(tally: JobTally) -> bool:
    """Containers that are restarted in place count like pods that fail."""
    if tally.job.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(pod.restarts for pod in tally.pods if pod.state.phase in ("Running", "Pending"))
    limit = tally.job.backoff_limit
    return restarts > 0 if limit == 0 else restarts >= limit


def _by_failed_indexes(tally: JobTally) -> JobVerdict | None:
    failed = tally.failed_indexes
    if not failed:
        return None
    most = tally.job.spec.get("maxFailedIndexes")
    if most is not None and len(failed) > most:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return JobVerdict(False, "MaxFailedIndexesExceeded", message)
    if len(failed) + len(tally.succeeded_indexes) >= (tally.job.completions or 0):
        return JobVerdict(False, "FailedIndexes", "Job has failed indexes")
    return None


def _by_success_policy(tally: JobTally) -> JobVerdict | None:
    message = success_message(tally.job, tally.succeeded_indexes)
    return JobVerdict(True, "SuccessPolicy", message) if message else None
