"""The SchedulingGates plugin: a pod with scheduling gates is not queued until they are all removed."""

from __future__ import annotations

from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["SchedulingGates"]


class SchedulingGates:
    name = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Refusal | None:
        if not pod.gates:
            return None
        text = f"waiting for scheduling gates: [{' '.join(pod.gates)}]"
        return Refusal(self.name, (text,), resolvable=False)

    @property
    def hints(self) -> Hints:
        return {EventKind.TARGET_GATES: _gates_are_gone}


def _gates_are_gone(pod: PodInfo, _: ClusterEvent) -> bool:
    return not pod.gates
