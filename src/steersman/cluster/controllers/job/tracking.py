"""Job tracking with finalizers: each finished pod is counted exactly once, even if the controller crashes
between writes. Pure.

A pod has the finalizer batch.kubernetes.io/job-tracking until it is counted. The order of writes makes it
safe:

1. the status lists the pod's uid under `uncountedTerminatedPods` (for indexes, the index itself is enough);
2. the finalizer is removed;
3. the status drops the uid and raises the counter.

A uid in the list whose pod has no finalizer any more is counted; one whose pod still has it is not: so
each step may be repeated from any point.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, cast

from steersman.cluster.controllers.job.job_pods import JobPod
from steersman.cluster.controllers.job.job_spec import PodEnd
from steersman.cluster.controllers.job.policies import judge_failure
from steersman.cluster.controllers.job.tally import JobTally
from steersman.cluster.controllers.job.verdict import JobVerdict
from steersman.objects.kinds.types.batch_v1 import JobStatus, UncountedTerminatedPods

__all__ = ["MOST_UNCOUNTED", "Tracking", "counted", "track"]


#: So many uids a status holds at once, to keep it small.
MOST_UNCOUNTED: Final = 500
_ENDS: Final[tuple[PodEnd, ...]] = ("succeeded", "failed")


@dataclass(frozen=True, slots=True)
class Tracking:
    """The next step: write the status, then remove the finalizers of the counted pods."""

    status: JobStatus
    release: Sequence[JobPod]
    #: Whether pods are left for another time since the lists are full.
    full: bool


def counted(status: JobStatus, tracked: Collection[str]) -> JobStatus:
    """The status with those uncounted pods counted that are not `tracked` any more."""
    uncounted = status.get("uncountedTerminatedPods") or {}
    left: UncountedTerminatedPods = {}
    status = {**status, "uncountedTerminatedPods": left}
    for how in _ENDS:
        uids = uncounted.get(how) or []
        remaining = [uid for uid in uids if uid in tracked]
        if remaining:
            left[how] = remaining
        if len(remaining) != len(uids):
            status[how] = (status.get(how) or 0) + len(uids) - len(remaining)
    return status


def track(tally: JobTally, status: JobStatus, verdict: JobVerdict | None) -> Tracking:
    """Which pods can be counted, and the status that says so."""
    job = tally.job
    tracked = [pod for pod in tally.pods if pod.tracked]
    if job.indexed:
        tracked.sort(key=lambda pod: -1 if pod.index is None else pod.index)
    status = counted(status, {pod.uid for pod in tracked})
    uncounted = {how: list(status["uncountedTerminatedPods"].get(how, ())) for how in _ENDS}
    indexes: set[int] = set()
    release: list[JobPod] = []
    full = False
    for pod in tracked:
        if not _may_go(tally, pod, verdict):
            continue
        release.append(pod)
        if pod.succeeded and pod.uid not in uncounted["failed"]:
            if not job.indexed:
                _add(uncounted["succeeded"], pod.uid)
            elif pod.index is not None and job.counts_index(pod) and pod.index not in job.completed_indexes:
                indexes.add(pod.index)
        elif _counts_as_failed(tally, pod, verdict):
            _add(uncounted["failed"], pod.uid)
        if len(indexes) + sum(map(len, uncounted.values())) >= MOST_UNCOUNTED:
            full = True
            break
    left = {how: uids for how, uids in uncounted.items() if uids}
    status["uncountedTerminatedPods"] = cast("UncountedTerminatedPods", left)
    if job.indexed:
        _write_indexes(tally, status)
    return Tracking(status, release, full)


def _may_go(tally: JobTally, pod: JobPod, verdict: JobVerdict | None) -> bool:
    """Whether the pod's finalizer has done its duty."""
    if tally.job.deleting or verdict is not None or pod.succeeded:
        return True
    if not tally.job.considers_failed(pod):
        return False
    return pod.index is None or tally.last_failed.get(pod.index) is not pod


def _counts_as_failed(tally: JobTally, pod: JobPod, verdict: JobVerdict | None) -> bool:
    """When the job fails, so does what is still running."""
    job = tally.job
    failed = job.considers_failed(pod) or (verdict is not None and not verdict.success)
    return failed and job.counts_index(pod) and judge_failure(job, pod).counts


def _add(uids: list[str], uid: str) -> None:
    if uid not in uids:
        uids.append(uid)


def _write_indexes(tally: JobTally, status: JobStatus) -> None:
    status["succeeded"] = len(tally.succeeded_indexes)
    status["completedIndexes"] = str(tally.succeeded_indexes)
    if tally.failed_indexes is None:
        status.pop("failedIndexes", None)
    else:
        status["failedIndexes"] = str(tally.failed_indexes)
