"""The pods of a Job counted by phase, readiness and completion index. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steersman.cluster.controllers.job.indexes import NO_INDEXES, Indexes
from steersman.cluster.controllers.job.job_pods import JobPod
from steersman.cluster.controllers.job.job_spec import JobState
from steersman.cluster.controllers.job.policies import judge_failure

__all__ = ["Counts", "JobTally", "count", "tally_of"]


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of active, ready and terminating pods for the status."""

    active: int
    ready: int
    terminating: int


def count(pods: Sequence[JobPod]) -> Counts:
    active = [pod.state for pod in pods if pod.state.active]
    return Counts(len(active), sum(pod.ready for pod in active), sum(pod.state.terminating for pod in pods))


@dataclass(frozen=True, slots=True)
class JobTally:
    """A Job and its pods, counted."""

    job: JobState
    pods: Sequence[JobPod]
    active: Sequence[JobPod]
    #: Pods that ended and are in no count yet.
    newly_succeeded: Sequence[JobPod]
    newly_failed: Sequence[JobPod]
    #: All that ended, counted or not; failures that the policy ignores are left out.
    succeeded: int
    failed: int
    succeeded_indexes: Indexes
    #: None unless indexes fail for themselves.
    failed_indexes: Indexes | None
    #: By index: the failed pod that stays until it is replaced, since its replacement continues its count.
    last_failed: dict[int, JobPod]


def tally_of(job: JobState, pods: Sequence[JobPod]) -> JobTally:
    uncounted_succeeded, uncounted_failed = job.uncounted("succeeded"), job.uncounted("failed")
    fresh = [pod for pod in pods if pod.tracked and job.counts_index(pod)]
    active = [pod for pod in pods if pod.state.active]
    succeeded = [pod for pod in fresh if pod.succeeded and pod.uid not in uncounted_succeeded]
    failed = [pod for pod in fresh if job.considers_failed(pod) and pod.uid not in uncounted_failed]
    counting = [pod for pod in failed if judge_failure(job, pod).counts]
    status = job.status
    total = (status.get("succeeded") or 0) + len(succeeded) + len(uncounted_succeeded)
    succeeded_indexes, failed_indexes, last_failed = NO_INDEXES, None, {}
    if job.indexed:
        succeeded_indexes = job.completed_indexes | _indexes(pod for pod in fresh if pod.succeeded)
        total = len(succeeded_indexes)
    if job.indexed and job.backoff_limit_per_index is not None:
        failed_indexes = job.failed_indexes | _indexes(pod for pod in fresh if _fails_index(job, pod))
        settled = succeeded_indexes | failed_indexes | _indexes(active)
        last_failed = _last_failed(job, fresh, settled)
    return JobTally(
        job,
        pods,
        active,
        succeeded,
        failed,
        total,
        (status.get("failed") or 0) + len(counting) + len(uncounted_failed),
        succeeded_indexes,
        failed_indexes,
        last_failed,
    )


def _indexes(pods: Iterable[JobPod]) -> Indexes:
    return Indexes.of({pod.index for pod in pods if pod.index is not None})


def _fails_index(job: JobState, pod: JobPod) -> bool:
    """Whether the pod's failure is the last that its index may have."""
    if not job.considers_failed(pod):
        return False
    failure = judge_failure(job, pod)
    limit = job.backoff_limit_per_index
    assert limit is not None
    return failure.action == "FailIndex" or (failure.counts and pod.failures >= limit)


def _last_failed(job: JobState, fresh: Sequence[JobPod], settled: Indexes) -> dict[int, JobPod]:
    found: dict[int, JobPod] = {}
    for pod in fresh:
        if pod.index is None or pod.index in settled or not job.considers_failed(pod):
            continue
        last = found.get(pod.index)
        if last is None or (_failures(last) <= _failures(pod) and last.finished <= pod.finished):
            found[pod.index] = pod
    return found


def _failures(pod: JobPod) -> int:
    return pod.failures + pod.ignored_failures
