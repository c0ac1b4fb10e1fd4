"""The spec and status of a Job as the rest of this package reads them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from steersman.cluster.controllers.job.indexes import NO_INDEXES, Indexes
from steersman.cluster.controllers.job.job_pods import JobPod
from steersman.objects.kinds.types import batch_v1
from steersman.objects.kinds.types.batch_v1 import JobSpec, JobStatus
from steersman.objects.lifetime import is_deleting

__all__ = ["CONTROLLER_NAME", "JobState", "PodEnd"]

#: How a pod ended, by the name of what `uncountedTerminatedPods` keeps of it.
PodEnd = Literal["succeeded", "failed"]


#: What `managedBy` says of jobs that this controller looks after.
CONTROLLER_NAME = "kubernetes.io/job-controller"


@dataclass(frozen=True)
class JobState:
    """A Job as it was read; `status` is the one in the cache."""

    obj: batch_v1.Job

    @property
    def spec(self) -> JobSpec:
        return self.obj["spec"]

    @property
    def status(self) -> JobStatus:
        return self.obj.get("status") or {}

    @property
    def name(self) -> str:
        return self.obj["metadata"]["name"]

    @property
    def deleting(self) -> bool:
        return is_deleting(self.obj)

    @property
    def managed_elsewhere(self) -> bool:
        return self.spec.get("managedBy", CONTROLLER_NAME) != CONTROLLER_NAME

    @property
    def suspended(self) -> bool:
        return bool(self.spec.get("suspend"))

    @property
    def indexed(self) -> bool:
        return self.spec.get("completionMode") == "Indexed"

    @property
    def completions(self) -> int | None:
        return self.spec.get("completions")

    @property
    def parallelism(self) -> int:
        return self.spec["parallelism"]

    @property
    def backoff_limit(self) -> int:
        return self.spec["backoffLimit"]

    @property
    def backoff_limit_per_index(self) -> int | None:
        return self.spec.get("backoffLimitPerIndex")

    @property
    def replaces_only_failed(self) -> bool:
        return self.spec.get("podReplacementPolicy") == "Failed"

    @property
    def start_time(self) -> str | None:
        return self.status.get("startTime")

    def counts_index(self, pod: JobPod) -> bool:
        """Whether the pod's index is one of those the job is about; without indexes all pods count."""
        return not self.indexed or (pod.index is not None and pod.index < (self.completions or 0))

    def considers_failed(self, pod: JobPod) -> bool:
        """Whether a pod is a failure; one that is being deleted may never come to say so itself."""
        if pod.state.phase == "Failed":
            return True
        return not self.replaces_only_failed and pod.state.deleting and not pod.succeeded

    @cached_property
    def completed_indexes(self) -> Indexes:
        return self._indexes(self.status.get("completedIndexes"))

    @cached_property
    def failed_indexes(self) -> Indexes:
        return self._indexes(self.status.get("failedIndexes"))

    def _indexes(self, text: str | None) -> Indexes:
        if not self.indexed:
            return NO_INDEXES
        return Indexes.parse(text or "", self.completions or 0)

    def uncounted(self, how: PodEnd) -> list[str]:
        """The uids of pods that ended this way (`succeeded`, `failed`) and are not in the counts yet."""
        return list((self.status.get("uncountedTerminatedPods") or {}).get(how) or ())
