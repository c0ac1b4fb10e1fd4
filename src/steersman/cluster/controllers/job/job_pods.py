"""The fields of a pod that only the Job controller reads: finalizer, completion index, failure. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from steersman.cluster.controllers.pod_states import PodState, matters_to_owner
from steersman.objects.kinds.views.pods import ContainerEnd, JobPodView
from steersman.objects.times import parse_time
from steersman.runtime import Cached

__all__ = [
    "COMPLETION_INDEX",
    "FAILURE_COUNT",
    "IGNORED_FAILURE_COUNT",
    "TRACKING_FINALIZER",
    "ContainerEnd",
    "JobPod",
    "is_tracked",
    "matters_to_job",
]

#: Keeps a pod until it is counted.
TRACKING_FINALIZER: Final = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"

_FINALIZER_BYTES: Final = TRACKING_FINALIZER.encode()
_MAX_INT32: Final = 2**31 - 1
_integer = re.compile("[+-]?[0-9]+").fullmatch


_decode = msgspec.json.Decoder(JobPodView).decode


@dataclass(frozen=True, slots=True, eq=False)
class JobPod:
    """A pod of a Job."""

    state: PodState
    details: JobPodView
    #: Its completion index; None if it has none that makes sense.
    index: int | None
    #: Failures of its index before it that count, and those that do not.
    failures: int
    ignored_failures: int

    @classmethod
    def read(cls, cached: Cached) -> JobPod:
        return cls._of(PodState.read(cached), _decode(cached.data))

    @classmethod
    def of(cls, obj: dict[str, Any]) -> JobPod:
        """The same of a whole pod."""
        return cls._of(PodState.of(obj), _decode(msgspec.json.encode(obj)))

    @classmethod
    def _of(cls, state: PodState, details: JobPodView) -> JobPod:
        annotations = state.annotations
        index = annotations.get(COMPLETION_INDEX, "")
        return cls(
            state,
            details,
            int(index) if _integer(index) and int(index) >= 0 else None,
            _count(annotations.get(FAILURE_COUNT, "")),
            _count(annotations.get(IGNORED_FAILURE_COUNT, "")),
        )

    @property
    def uid(self) -> str:
        return self.state.uid

    @property
    def tracked(self) -> bool:
        """Whether it is still to be counted."""
        return TRACKING_FINALIZER in self.details.metadata.finalizers

    @property
    def succeeded(self) -> bool:
        return self.state.phase == "Succeeded"

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """(type, status) of each."""
        return [(one.type, one.status) for one in self.details.status.conditions]

    @property
    def ended_containers(self) -> list[tuple[str, ContainerEnd]]:
        """The containers that ended, then the init containers that did."""
        status = self.details.status
        containers = [*status.container_statuses, *status.init_container_statuses]
        return [(one.name, one.state.terminated) for one in containers if one.state.terminated is not None]

    @property
    def restarts(self) -> int:
        status = self.details.status
        containers = [*status.container_statuses, *status.init_container_statuses]
        return sum(one.restart_count for one in containers)

    @property
    def finished(self) -> datetime:
        """When it ended, as well as can be told."""
        if (ended := self._containers_finished()) is not None:
            return ended
        for condition in self.details.status.conditions:
            if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time:
                return parse_time(condition.last_transition_time)
        metadata = self.state.metadata
        if metadata.deletion_timestamp is not None:
            grace_s = self.details.metadata.deletion_grace_period_seconds or 0
            return parse_time(metadata.deletion_timestamp) - timedelta(seconds=grace_s)
        assert metadata.creation_timestamp is not None  # the API gives one to every object
        return parse_time(metadata.creation_timestamp)

    def _containers_finished(self) -> datetime | None:
        """When the last container or sidecar ended, if all have."""
        sidecars = {one.name for one in self.state.spec.init_containers if one.is_sidecar}
        status = self.details.status
        containers = list(status.container_statuses)
        containers += [one for one in status.init_container_statuses if one.name in sidecars]
        ends = [one.state.terminated.finished_at if one.state.terminated else None for one in containers]
        times = [parse_time(end) for end in ends if end is not None]
        return max(times) if times and len(times) == len(containers) else None


def _count(text: str) -> int:
    """A number that anybody may have written into an annotation."""
    number = int(text) if _integer(text) else 0
    return number if 0 <= number <= _MAX_INT32 else 0


def is_tracked(cached: Cached) -> bool:
    """Whether a pod has the finalizer; most pods in a cluster need no decoding to see that they have not."""
    if _FINALIZER_BYTES not in cached.data:
        return False
    return TRACKING_FINALIZER in _decode(cached.data).metadata.finalizers


def matters_to_job(old: Cached, new: Cached) -> bool:
    """Whether a pod's change can make its job do or tell anything else."""
    if matters_to_owner(old, new):
        return True
    before, after = JobPod.read(old), JobPod.read(new)
    return (before.tracked, before.restarts) != (after.tracked, after.restarts)
