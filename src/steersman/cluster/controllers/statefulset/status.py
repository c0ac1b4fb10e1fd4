"""The status of a StatefulSet: replica counts and revisions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.statefulset.identity import count, revision_of
from steersman.objects.kinds.emptiness import omit_empty
from steersman.objects.kinds.types.apps_v1 import StatefulSet, StatefulSetStatus

__all__ = ["stateful_status"]


def stateful_status(
    stateful_set: StatefulSet,
    pods: Sequence[PodState],
    current_revision: str,
    update_revision: str,
    collisions: int,
    now: datetime,
) -> StatefulSetStatus:
    """The status as the API would answer it."""
    min_ready_s = stateful_set["spec"].get("minReadySeconds") or 0
    ready = [pod for pod in pods if pod.phase == "Running" and pod.ready]
    staying = [revision_of(pod) for pod in pods if not pod.deleting]
    counts: StatefulSetStatus = {
        "readyReplicas": len(ready),
        "currentReplicas": staying.count(current_revision),
        "updatedReplicas": staying.count(update_revision),
    }
    if {len(pods), counts["readyReplicas"], counts["updatedReplicas"]} == {count(stateful_set)}:
        # The update is complete.
        current_revision = update_revision
        counts["currentReplicas"] = counts["updatedReplicas"]
    status: StatefulSetStatus = {
        "observedGeneration": stateful_set["metadata"].get("generation", 0),
        "replicas": len(pods),
        **omit_empty(counts),
        "currentRevision": current_revision,
        "updateRevision": update_revision,
        "collisionCount": collisions,
        "availableReplicas": sum(pod.available(min_ready_s, now) for pod in ready),
    }
    if conditions := (stateful_set.get("status") or {}).get("conditions"):
        status["conditions"] = conditions
    return status
