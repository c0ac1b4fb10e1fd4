"""The PrioritySort plugin: orders the queue by priority, then by the time a pod was queued."""

from __future__ import annotations

from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["PrioritySort"]


class PrioritySort:
    name = "PrioritySort"

    def sort_key(self, pod: PodInfo, queued_at: float) -> tuple[float, ...]:
        return (-pod.priority, queued_at)
