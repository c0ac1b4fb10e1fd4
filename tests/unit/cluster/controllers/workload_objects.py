"""Small objects for tests of the workload controllers' decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from steersman.cluster.controllers.pod_states import PodState
from steersman.objects.times import format_time

Object = dict[str, Any]

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)


def ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


def pod_state(
    name: str = "p",
    *,
    phase: str = "Running",
    ready: bool = True,
    ready_for_s: float = 1000,
    age_s: float = 2000,
    node: str = "n1",
    deleting: bool = False,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    restarts: int = 0,
    spec: Object | None = None,
) -> PodState:
    metadata: Object = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "creationTimestamp": ago(age_s),
        "labels": labels or {},
        "annotations": annotations or {},
    }
    if deleting:
        metadata["deletionTimestamp"] = ago(0)
    conditions = [
        {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": ago(ready_for_s)}
    ]
    status = {
        "phase": phase,
        "conditions": conditions,
        "containerStatuses": [{"name": "c", "restartCount": restarts}],
    }
    return PodState.of({"metadata": metadata, "spec": {"nodeName": node, **(spec or {})}, "status": status})
