"""SchedulingGates: a pod with gates is not looked at before they are all removed."""

from __future__ import annotations

from steersman.cluster.scheduler.framework.events import EventKind, Hints, Occurrence
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.pod import Pod

__all__ = ["SchedulingGates"]


class SchedulingGates:
    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        if not pod.gates:
            return None
        text = f"waiting for scheduling gates: [{' '.join(pod.gates)}]"
        return Refusal(self.name, (text,), resolvable=False)

    @property
    def hints(self) -> Hints:
        return {EventKind.TARGET_GATES: _gates_are_gone}


def _gates_are_gone(pod: Pod, _: Occurrence) -> bool:
    return not pod.gates
