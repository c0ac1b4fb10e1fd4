"""The annotation endpoints.kubernetes.io/last-change-trigger-time: when the change happened that caused an
update of endpoints, for latency metrics. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from steersman.cluster.controllers.endpoints.backends import PodEndpoint
from steersman.cluster.controllers.endpoints.services import SelectingService
from steersman.runtime import Key

__all__ = ["TRIGGER_TIME", "TriggerTimes"]

TRIGGER_TIME: Final = "endpoints.kubernetes.io/last-change-trigger-time"


@dataclass(slots=True)
class _Seen:
    """The times of a Service's last reconcile."""

    service: str = ""
    pods: dict[str, str] = field(default_factory=dict)


class TriggerTimes:
    """The last seen change times of each Service and its pods."""

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}

    def changed_at(self, service: SelectingService, pods: Iterable[PodEndpoint]) -> str:
        """The earliest change since the last call; empty if nothing that has a time has changed."""
        key = Key(service.namespace, service.name)
        created = service.metadata.creation_timestamp or ""
        seen = self._seen.get(key)
        times = {pod.name: at for pod in pods if (at := pod.readiness_changed_at)}
        self._seen[key] = _Seen(created, times)
        if seen is None:
            return created
        changed = [at for name, at in times.items() if at > seen.pods.get(name, "")]
        if created > seen.service:
            changed.append(created)
        return min(changed, default="")

    def forget(self, key: Key) -> None:
        self._seen.pop(key, None)
