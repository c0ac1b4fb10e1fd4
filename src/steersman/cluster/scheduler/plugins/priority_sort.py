"""PrioritySort: pods of higher priority come first, then those that have waited longer."""

from __future__ import annotations

from steersman.cluster.scheduler.model.pod import Pod

__all__ = ["PrioritySort"]


class PrioritySort:
    name = "PrioritySort"

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[float, ...]:
        return (-pod.priority, queued_at)
