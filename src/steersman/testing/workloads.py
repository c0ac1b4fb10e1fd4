"""Workloads made ready by hand, in clusters where nothing runs pods."""

from __future__ import annotations

from datetime import UTC, datetime

from steersman.client import Client
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType, Typed
from steersman.objects.times import format_time

__all__ = ["mark_ready"]


async def mark_ready(
    client: Client,
    kind: ResourceType | type[Typed],
    name: str,
    namespace: str | None = None,
    *,
    ready: int | None = None,
) -> Object:
    """Write the status of a Deployment, StatefulSet, ReplicaSet or DaemonSet of which `ready` replicas run
    (all of them unless given), as its controller would. Returns the object.

        await mark_ready(client, Deployment, "web")
        await mark_ready(client, Deployment, "web", ready=1)
    """
    resource = kind if isinstance(kind, ResourceType) else kind.resource_type
    obj = await client.get(resource, name, namespace)
    try:
        status = _STATUSES[resource.kind](obj, ready)
    except KeyError:
        raise ValueError(f"a {resource.kind} does not become ready: {', '.join(_STATUSES)} do") from None
    status["observedGeneration"] = obj["metadata"]["generation"]
    patch = {"status": status}
    return await client.patch(resource, name, patch, namespace, type="merge", subresource="status")


def _wanted(obj: Object) -> int:
    replicas: int = obj["spec"].get("replicas", 1)
    return replicas


def _deployment(obj: Object, ready: int | None) -> Object:
    wanted = _wanted(obj)
    ready = wanted if ready is None else ready
    return {
        "replicas": wanted,
        "updatedReplicas": wanted,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": wanted - ready,
        "conditions": _conditions(obj, ready >= wanted),
    }


def _conditions(obj: Object, available: bool) -> list[Object]:
    """Available and Progressing; a transition time is kept while the status is."""
    before = {each["type"]: each for each in (obj.get("status") or {}).get("conditions") or ()}
    told = (
        ("Available", available, "MinimumReplicasAvailable" if available else "MinimumReplicasUnavailable"),
        ("Progressing", True, "NewReplicaSetAvailable" if available else "ReplicaSetUpdated"),
    )
    now = format_time(datetime.now(UTC))
    conditions = []
    for kind, holds, reason in told:
        status = "True" if holds else "False"
        since = before.get(kind, {})
        kept = since.get("status") == status
        conditions.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "lastUpdateTime": now,
                "lastTransitionTime": since["lastTransitionTime"] if kept else now,
            }
        )
    return conditions


def _stateful_set(obj: Object, ready: int | None) -> Object:
    wanted = _wanted(obj)
    ready = wanted if ready is None else ready
    return {
        "replicas": wanted,
        "currentReplicas": wanted,
        "updatedReplicas": wanted,
        "readyReplicas": ready,
        "availableReplicas": ready,
    }


def _replica_set(obj: Object, ready: int | None) -> Object:
    wanted = _wanted(obj)
    ready = wanted if ready is None else ready
    return {
        "replicas": wanted,
        "fullyLabeledReplicas": wanted,
        "readyReplicas": ready,
        "availableReplicas": ready,
    }


def _daemon_set(obj: Object, ready: int | None) -> Object:
    """On a cluster of as many nodes as are ready."""
    nodes = 1 if ready is None else ready
    return {
        "desiredNumberScheduled": nodes,
        "currentNumberScheduled": nodes,
        "updatedNumberScheduled": nodes,
        "numberMisscheduled": 0,
        "numberReady": nodes,
        "numberAvailable": nodes,
    }


_STATUSES = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "ReplicaSet": _replica_set,
    "DaemonSet": _daemon_set,
}
