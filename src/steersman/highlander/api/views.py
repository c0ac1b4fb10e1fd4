"""What answers look like: states as JSON, under the public project's names, with ours beside them.

Pure: a board and a moment in, plain values out. Each `TypedDict` here is a schema of the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypedDict

from steersman.highlander.state import (
    Board,
    ControllerPhase,
    ControllerState,
    PodView,
    Transition,
    WorkloadKind,
    WorkloadPhase,
    WorkloadState,
)
from steersman.objects.times import format_time

__all__ = [
    "Controller",
    "LabelledPod",
    "LeadershipChange",
    "Pod",
    "Status",
    "Storage",
    "Tenant",
    "Workload",
    "active",
    "controller",
    "labelled_pod",
    "leadership_change",
    "not_ready",
    "pod",
    "status",
    "storage",
    "tenant",
    "workload",
    "workloads",
]

#: The public project's name for all workloads of a kind.
GROUPS = {
    WorkloadKind.PROCESS: "processes",
    WorkloadKind.CRON_JOB: "cronjobs",
    WorkloadKind.SERVICE: "service",
    WorkloadKind.PERSISTENT: "persistent",
}
_STORAGES = {"redis": "Redis", "db": "PostgreSQL", "lease": "Lease", "raft": "Raft"}
_ACTIVE = frozenset((WorkloadPhase.STARTING, WorkloadPhase.RUNNING, WorkloadPhase.DEGRADED))


class Controller(TypedDict):
    """One controller's part in one tenant's election."""

    id: str
    owner: str
    tenant: str
    namespace: str
    cluster: str
    phase: str
    phaseDetail: str
    isLeader: bool
    leader: str
    leaderSince: str | None
    lastLeader: str
    lastTransition: str | None
    lastReason: str
    epoch: int
    leaseDurationSeconds: float
    leaseMarginSeconds: float | None
    renewLagSeconds: float | None
    startedAt: str | None
    storageType: str
    storageHealthy: bool
    storageError: str
    storageFailures: int
    clusterHealthy: bool
    clusterError: str
    failovers: int
    transitions: int
    lastError: str
    configError: str
    priority: int
    remainsFollower: bool
    ready: bool
    notReady: str


class Status(TypedDict):
    """What the public project shows of a controller."""

    isLeader: bool
    leaderSince: str | None
    lastLeaderTransition: str | None
    uptime: str
    leaderID: str
    tenant: str
    clusterName: str
    clusterHealth: bool
    dbConnected: bool
    storageType: str
    controllerState: str
    workloadStatus: dict[str, dict[str, dict[str, Any]]]
    readyForTraffic: bool
    version: str
    buildInfo: str
    lastError: str
    failoverCount: int
    leadershipTransitions: int
    currentLeader: str
    lastLeader: str
    lastLeadershipChangeReason: str
    dbFailureCount: int
    epoch: int
    leaseMarginSeconds: float | None
    renewLagSeconds: float | None


class Workload(TypedDict):
    key: str
    name: str
    namespace: str
    tenant: str
    type: str
    active: bool
    healthy: bool
    phase: str
    paused: bool
    lastTransition: str | None
    lastError: str
    restarts: int
    epoch: int
    pods: list[Pod]
    details: dict[str, Any]


class Pod(TypedDict):
    name: str
    namespace: str
    workload: str
    status: str
    ready: bool
    restarts: int
    reason: str
    node: str
    ip: str
    age: str
    createdAt: str | None
    startedAt: str | None
    epoch: int
    controllerId: str
    clusterName: str
    containers: list[str]
    images: list[str]


class LabelledPod(Pod):
    """With what else its metadata says."""

    labels: dict[str, str]
    annotations: dict[str, str]


# Written so because `from` is a word of the language.
LeadershipChange = TypedDict(
    "LeadershipChange",
    {"timestamp": str | None, "from": str, "to": str, "reason": str, "epoch": int},
)


class Storage(TypedDict):
    type: str
    address: str
    connected: bool
    error: str
    failures: int
    details: dict[str, str]


class Tenant(TypedDict):
    """One line about a tenant."""

    tenant: str
    isLeader: bool
    leader: str
    phase: str
    epoch: int
    ready: bool
    workloads: int
    active: int
    healthy: int


def moment(seconds: float | None) -> str | None:
    return None if not seconds else format_time(datetime.fromtimestamp(seconds, UTC))


def duration(seconds: float) -> str:
    """As Go prints it to whole seconds: 1h2m3s."""
    whole = max(0, int(seconds))
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours}h{minutes}m{whole % 60}s"
    return f"{minutes}m{whole % 60}s" if minutes else f"{whole}s"


def active(state: WorkloadState) -> bool:
    """Whether a copy runs or is about to."""
    return state.phase in _ACTIVE


def not_ready(board: Board) -> str:
    """Why nothing should rely on this controller now; empty if it does its part.

    A follower does when it could take over, a leader when it leads; losing the store makes a leader unready
    before it makes it lose the lock.
    """
    state = board.controller
    if not board.ready:
        return state.phase_detail or f"the controller is {state.phase}"
    if state.phase is ControllerPhase.LEADING and not state.is_leader:
        return "recent leadership change"
    if not state.storage_healthy:
        return f"db connection issue: {state.storage_error}".rstrip(": ")
    if not state.cluster_healthy:
        return f"cluster health issue: {state.cluster_error}".rstrip(": ")
    return ""


def controller(board: Board) -> Controller:
    state = board.controller
    reason = not_ready(board)
    return {
        "id": state.id,
        "owner": state.owner,
        "tenant": state.tenant,
        "namespace": state.namespace,
        "cluster": state.cluster_name,
        "phase": state.phase,
        "phaseDetail": state.phase_detail,
        "isLeader": state.is_leader,
        "leader": state.leader,
        "leaderSince": moment(state.leader_since),
        "lastLeader": state.last_leader,
        "lastTransition": moment(state.last_transition),
        "lastReason": state.last_reason,
        "epoch": state.epoch,
        "leaseDurationSeconds": state.lease_duration_s,
        "leaseMarginSeconds": _rounded(state.lease_margin_s),
        "renewLagSeconds": _rounded(state.renew_lag_s),
        "startedAt": moment(state.started),
        "storageType": state.storage_type,
        "storageHealthy": state.storage_healthy,
        "storageError": state.storage_error,
        "storageFailures": state.storage_failures,
        "clusterHealthy": state.cluster_healthy,
        "clusterError": state.cluster_error,
        "failovers": state.failovers,
        "transitions": state.transitions,
        "lastError": state.last_error,
        "configError": state.config_error,
        "priority": state.priority,
        "remainsFollower": state.remains_follower,
        "ready": not reason,
        "notReady": reason,
    }


def status(board: Board, now: float, version: str) -> Status:
    state = board.controller
    return {
        "isLeader": state.is_leader,
        "leaderSince": moment(state.leader_since),
        "lastLeaderTransition": moment(state.last_transition),
        "uptime": duration(now - state.started),
        "leaderID": state.id,
        "tenant": state.tenant,
        "clusterName": state.cluster_name,
        "clusterHealth": state.cluster_healthy,
        "dbConnected": state.storage_healthy,
        "storageType": state.storage_type,
        "controllerState": state.phase,
        "workloadStatus": _grouped(
            board.workloads.values(), lambda one: {"active": active(one), "namespace": one.namespace}
        ),
        "readyForTraffic": not not_ready(board),
        "version": version,
        "buildInfo": "steersman",
        "lastError": state.last_error,
        "failoverCount": state.failovers,
        "leadershipTransitions": state.transitions,
        "currentLeader": state.leader,
        "lastLeader": state.last_leader,
        "lastLeadershipChangeReason": state.last_reason,
        "dbFailureCount": state.storage_failures,
        "epoch": state.epoch,
        "leaseMarginSeconds": _rounded(state.lease_margin_s),
        "renewLagSeconds": _rounded(state.renew_lag_s),
    }


def workloads(board: Board, now: float) -> dict[str, dict[str, Workload]]:
    """By the public project's groups, then by name."""
    return _grouped(board.workloads.values(), lambda one: workload(one, now))


def workload(state: WorkloadState, now: float) -> Workload:
    return {
        "key": state.key,
        "name": state.name,
        "namespace": state.namespace,
        "tenant": state.tenant,
        "type": state.kind,
        "active": active(state),
        "healthy": state.ready,
        "phase": state.phase,
        "paused": state.paused,
        "lastTransition": moment(state.since),
        "lastError": state.last_error,
        "restarts": state.restarts,
        "epoch": state.epoch,
        "pods": [pod(one, now) for one in state.pods],
        "details": {**_of_its_pod(state), **state.details},
    }


def _of_its_pod(state: WorkloadState) -> dict[str, Any]:
    """What the public project tells of a process."""
    if state.kind is not WorkloadKind.PROCESS or not state.pods:
        return {}
    pod = state.pods[0]
    return {"podPhase": pod.phase, "podIP": pod.ip, "hostIP": pod.host_ip}


def pod(view: PodView, now: float) -> Pod:
    return {
        "name": view.name,
        "namespace": view.namespace,
        "workload": f"{view.kind}/{view.namespace}/{view.workload}",
        "status": view.phase,
        "ready": view.ready,
        "restarts": view.restarts,
        "reason": view.reason,
        "node": view.node,
        "ip": view.ip,
        "age": duration(now - view.created) if view.created else "",
        "createdAt": moment(view.created),
        "startedAt": moment(view.started),
        "epoch": view.epoch,
        "controllerId": view.controller_id,
        "clusterName": view.labels.get("cluster-name", ""),
        "containers": list(view.containers),
        "images": list(view.images),
    }


def labelled_pod(view: PodView, now: float) -> LabelledPod:
    return {**pod(view, now), "labels": dict(view.labels), "annotations": dict(view.annotations)}


def leadership_change(entry: Transition) -> LeadershipChange:
    """`from` and `to` are empty if nobody led before or leads after."""
    return {
        "timestamp": moment(entry.time),
        "from": entry.from_leader,
        "to": entry.to_leader,
        "reason": entry.reason,
        "epoch": entry.epoch,
    }


def storage(state: ControllerState) -> Storage:
    return {
        "type": state.storage_type,
        "address": state.storage_address,
        "connected": state.storage_healthy,
        "error": state.storage_error,
        "failures": state.storage_failures,
        "details": {"type": _STORAGES.get(state.storage_type, state.storage_type)},
    }


def tenant(board: Board) -> Tenant:
    state = board.controller
    return {
        "tenant": state.tenant,
        "isLeader": state.is_leader,
        "leader": state.leader,
        "phase": state.phase,
        "epoch": state.epoch,
        "ready": not not_ready(board),
        "workloads": len(board.workloads),
        "active": sum(map(active, board.workloads.values())),
        "healthy": sum(one.ready for one in board.workloads.values()),
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _grouped(
    states: Iterable[WorkloadState], view: Callable[[WorkloadState], Any]
) -> dict[str, dict[str, Any]]:
    """By group and name; of several with one name the later ones are called `namespace/name`."""
    groups: dict[str, dict[str, Any]] = {name: {} for name in GROUPS.values()}
    for state in states:
        group: dict[str, Any] = groups[GROUPS[state.kind]]
        group[state.name if state.name not in group else f"{state.namespace}/{state.name}"] = view(state)
    return groups
