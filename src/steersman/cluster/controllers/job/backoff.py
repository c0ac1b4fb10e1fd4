"""The back-off of a Job before it creates a pod after failures. Pure; the records live in memory only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from steersman.cluster.controllers.job.job_pods import JobPod

__all__ = ["NO_FAILURES", "JobBackoff", "index_wait_s"]

_FIRST_S: Final = 10.0
_LONGEST_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class JobBackoff:
    """The failures of a Job since its last success."""

    failures: int = 0
    last_failure: datetime | None = None

    def after(self, succeeded: Sequence[JobPod], failed: Sequence[JobPod]) -> JobBackoff:
        """With these pods that ended."""
        if not succeeded and not failed:
            return self
        times = sorted(pod.finished for pod in failed)
        before = self.failures
        if succeeded:
            last_success = max(pod.finished for pod in succeeded)
            times = [time for time in times if time > last_success]
            before = 0
        return JobBackoff(before + len(times), times[-1]) if times else NO_FAILURES

    def wait_s(self, now: datetime) -> float:
        if not self.failures or self.last_failure is None:
            return 0.0
        whole = min(_FIRST_S * 2.0 ** min(self.failures - 1, 10), _LONGEST_S)
        return max(0.0, whole - (now - self.last_failure).total_seconds())


NO_FAILURES: Final = JobBackoff()


def index_wait_s(last_failed: JobPod | None, now: datetime) -> float:
    """The same for one index, whose last pod knows how often it failed before."""
    if last_failed is None:
        return 0.0
    failures = last_failed.failures + last_failed.ignored_failures + 1
    return JobBackoff(failures, last_failed.finished).wait_s(now)
