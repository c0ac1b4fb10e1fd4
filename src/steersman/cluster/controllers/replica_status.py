"""The status of ReplicaSets and ReplicationControllers: replica counts and the condition ReplicaFailure.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from steersman.cluster.controllers.pod_states import PodState
from steersman.objects.conditions import find_condition, remove_condition, set_condition
from steersman.objects.kinds.emptiness import omit_empty
from steersman.objects.kinds.types.apps_v1 import ReplicaSetStatus
from steersman.objects.times import format_time

__all__ = ["replica_status"]


def replica_status(
    owner: Mapping[str, Any],
    active: Sequence[PodState],
    terminating: int | None,
    failure: str | None,
    now: datetime,
) -> ReplicaSetStatus:
    """The status as the API would answer it. `terminating` is None where it is not told; `failure` is what
    kept pods from being created or deleted."""
    spec = owner["spec"]
    min_ready_s = spec.get("minReadySeconds") or 0
    labels = ((spec["template"].get("metadata") or {}).get("labels") or {}).items()
    ready = [pod for pod in active if pod.ready]
    status: ReplicaSetStatus = {"replicas": len(active)}
    counts: ReplicaSetStatus = {
        "fullyLabeledReplicas": sum(labels <= pod.labels.items() for pod in active),
        "readyReplicas": len(ready),
        "availableReplicas": sum(pod.available(min_ready_s, now) for pod in ready),
    }
    status.update(omit_empty(counts))
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    status["observedGeneration"] = owner["metadata"]["generation"]
    if conditions := _conditions(owner, len(active), failure, now):
        status["conditions"] = list(conditions)
    return status


def _conditions(owner: Mapping[str, Any], active: int, failure: str | None, now: datetime) -> Sequence[Any]:
    conditions = (owner.get("status") or {}).get("conditions") or []
    if failure is None:
        return remove_condition(conditions, "ReplicaFailure")
    if find_condition(conditions, "ReplicaFailure") is not None:
        return conditions  # the first failure stays until nothing fails
    wanted = owner["spec"].get("replicas") or 0
    reason = "FailedCreate" if active < wanted else "FailedDelete" if active > wanted else ""
    return set_condition(
        conditions, "ReplicaFailure", "True", reason=reason, message=failure, now=format_time(now)
    )
