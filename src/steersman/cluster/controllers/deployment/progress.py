"""The status of a Deployment: replica counts and the conditions Available, Progressing and ReplicaFailure.
Pure.

The `Progressing` condition of a Deployment with a deadline:

| what is seen                         | status  | reason                   |
|--------------------------------------|---------|--------------------------|
| a new ReplicaSet was made            | True    | NewReplicaSetCreated     |
| one that fits was there              | True    | FoundNewReplicaSet       |
| it could not be made                 | False   | ReplicaSetCreateError    |
| more new or fewer old pods than last | True    | ReplicaSetUpdated        |
| all pods are new and available       | True    | NewReplicaSetAvailable   |
| nothing of this for too long         | False   | ProgressDeadlineExceeded |
| paused, resumed                      | Unknown | DeploymentPaused, -Resumed |
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from steersman.cluster.controllers.deployment.sizes import max_unavailable, total, wanted
from steersman.objects.conditions import find_condition, remove_condition
from steersman.objects.kinds.emptiness import omit_empty
from steersman.objects.kinds.types.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetCondition,
)
from steersman.objects.times import format_time, parse_time

__all__ = [
    "PROGRESSING",
    "counted",
    "has_deadline",
    "is_complete",
    "pausing",
    "progress_check_s",
    "rolled_out",
    "with_condition",
    "with_progress",
]

_Count = Literal["replicas", "readyReplicas", "availableReplicas"]

PROGRESSING: Final = "Progressing"
_FAILURE: Final = "ReplicaFailure"
_NO_DEADLINE: Final = 2**31 - 1
#: A check comes a little late rather than early: conditions have whole seconds.
_SLACK_S: Final = 1.0


def has_deadline(deployment: Deployment) -> bool:
    return deployment["spec"].get("progressDeadlineSeconds") not in (None, _NO_DEADLINE)


def with_condition(
    status: DeploymentStatus, kind: str, value: str, reason: str, message: str, now: datetime
) -> DeploymentStatus:
    """The status with a condition; the same if it says so already (whatever the message)."""
    conditions = status.get("conditions") or []
    old = find_condition(conditions, kind)
    if old is not None and old["status"] == value and old.get("reason") == reason:
        return status
    moment = format_time(now)
    unmoved = old is not None and old["status"] == value
    condition: DeploymentCondition = {
        "type": kind,
        "status": value,
        "lastUpdateTime": moment,
        "lastTransitionTime": old["lastTransitionTime"] if old is not None and unmoved else moment,
        "reason": reason,
        "message": message,
    }
    return {**status, "conditions": [*remove_condition(conditions, kind), condition]}


def with_progress(
    deployment: Deployment, value: str, reason: str, message: str, now: datetime
) -> DeploymentStatus:
    """The Deployment's status with another Progressing condition."""
    return with_condition(deployment.get("status") or {}, PROGRESSING, value, reason, message, now)


def pausing(deployment: Deployment, now: datetime) -> DeploymentStatus:
    """The status that tells of a pause or its end, so that the time does not count against the deadline."""
    status: DeploymentStatus = deployment.get("status") or {}
    if not has_deadline(deployment):
        return status
    condition = find_condition(status.get("conditions"), PROGRESSING)
    reason = condition.get("reason") if condition is not None else None
    if reason == "ProgressDeadlineExceeded":
        return status
    paused = deployment["spec"].get("paused", False)
    if paused and reason != "DeploymentPaused":
        return with_progress(deployment, "Unknown", "DeploymentPaused", "Deployment is paused", now)
    if not paused and reason == "DeploymentPaused":
        return with_progress(deployment, "Unknown", "DeploymentResumed", "Deployment is resumed", now)
    return status


def counted(
    deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """The status by what the ReplicaSets (`new` among them) say, with the Available condition."""
    old = deployment.get("status") or {}
    available = _sum(sets, "availableReplicas")
    counts: DeploymentStatus = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": _sum(sets, "replicas"),
        "updatedReplicas": _sum([new] if new else [], "replicas"),
        "readyReplicas": _sum(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(total(sets) - available, 0),
    }
    status = omit_empty(counts)
    if (terminating := _terminating(sets)) is not None:
        status["terminatingReplicas"] = terminating
    if "collisionCount" in old:
        status["collisionCount"] = old["collisionCount"]
    if "conditions" in old:
        status["conditions"] = old["conditions"]
    if available >= wanted(deployment) - max_unavailable(deployment):
        told = "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
    else:
        told = "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    return with_condition(status, "Available", *told, now)


def _sum(sets: Sequence[ReplicaSet], field: _Count) -> int:
    return sum((one.get("status") or {}).get(field) or 0 for one in sets)


def _terminating(sets: Sequence[ReplicaSet]) -> int | None:
    """None if a ReplicaSet that was looked at does not tell."""
    count = 0
    for one in sets:
        status = one.get("status") or {}
        if "terminatingReplicas" in status:
            count += status["terminatingReplicas"]
        elif status.get("observedGeneration"):
            return None
    return count


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether all pods there should be are new and available, and no others are left."""
    return {status.get(field) or 0 for field in ("updatedReplicas", "replicas", "availableReplicas")} == {
        wanted(deployment)
    } and (status.get("observedGeneration") or 0) >= deployment["metadata"].get("generation", 0)


def rolled_out(
    deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """`counted`, and how the rollout gets on."""
    status = counted(deployment, sets, new, now)
    if has_deadline(deployment):
        status = _estimated(deployment, status, new, now)
    else:
        status = _without(status, PROGRESSING)
    failure = _failure(sets, new)
    if failure is None:
        return _without(status, _FAILURE)
    told = find_condition(status.get("conditions"), _FAILURE)
    if told is not None and all(told.get(field) == failure.get(field) for field in ("status", "reason")):
        return status
    copied: DeploymentCondition = {
        "type": _FAILURE,
        "status": failure["status"],
        "lastUpdateTime": failure["lastTransitionTime"],
        "lastTransitionTime": failure["lastTransitionTime"],
        "reason": failure.get("reason", ""),
        "message": failure.get("message", ""),
    }
    return {**status, "conditions": [*remove_condition(status.get("conditions"), _FAILURE), copied]}


def _without(status: DeploymentStatus, kind: str) -> DeploymentStatus:
    if find_condition(status.get("conditions"), kind) is None:
        return status
    return {**status, "conditions": remove_condition(status["conditions"], kind)}


def _estimated(
    deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    current = find_condition((deployment.get("status") or {}).get("conditions"), PROGRESSING)
    all_new = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if all_new and current is not None and current.get("reason") == "NewReplicaSetAvailable":
        return status  # no rollout is going on
    kind, name = (
        ("ReplicaSet", new["metadata"]["name"]) if new else ("Deployment", deployment["metadata"]["name"])
    )
    subject = f'{kind} "{name}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_condition(status, PROGRESSING, "True", "NewReplicaSetAvailable", message, now)
    if _got_on(deployment.get("status") or {}, status):
        # Every step counts, so the time of the last one moves even if nothing else does.
        old_true = current is not None and current["status"] == "True"
        since = current["lastTransitionTime"] if current is not None and old_true else format_time(now)
        message = f"{subject} is progressing."
        status = _without(status, PROGRESSING)
        status = with_condition(status, PROGRESSING, "True", "ReplicaSetUpdated", message, now)
        status["conditions"][-1]["lastTransitionTime"] = since
        return status
    if _timed_out(deployment, status, now):
        message = f"{subject} has timed out progressing."
        return with_condition(status, PROGRESSING, "False", "ProgressDeadlineExceeded", message, now)
    return status


def _got_on(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    def left(status: DeploymentStatus) -> int:
        return status.get("replicas", 0) - status.get("updatedReplicas", 0)

    return (
        new.get("updatedReplicas", 0) > old.get("updatedReplicas", 0)
        or new.get("readyReplicas", 0) > old.get("readyReplicas", 0)
        or new.get("availableReplicas", 0) > old.get("availableReplicas", 0)
        or left(new) < left(old)
    )


def _timed_out(deployment: Deployment, status: DeploymentStatus, now: datetime) -> bool:
    condition = find_condition(status.get("conditions"), PROGRESSING)
    if condition is None or condition.get("reason") == "NewReplicaSetAvailable":
        return False
    if condition.get("reason") == "ProgressDeadlineExceeded":
        return True
    return _deadline(deployment, condition) < now


def _deadline(deployment: Deployment, condition: DeploymentCondition) -> datetime:
    allowed = timedelta(seconds=deployment["spec"]["progressDeadlineSeconds"])
    since = condition["lastUpdateTime"]
    assert since is not None  # as `with_condition` writes it
    return parse_time(since) + allowed


def _failure(sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> ReplicaSetCondition | None:
    """What a ReplicaSet cannot do; the newest one's failures go before the others'."""
    for one in [*([new] if new else []), *sets]:
        condition = find_condition((one.get("status") or {}).get("conditions"), _FAILURE)
        if condition is not None:
            return condition
    return None


def progress_check_s(deployment: Deployment, status: DeploymentStatus, now: datetime) -> float | None:
    """When to look whether the deadline has passed; None if that cannot happen."""
    condition = find_condition(status.get("conditions"), PROGRESSING)
    if not has_deadline(deployment) or condition is None or is_complete(deployment, status):
        return None
    if condition.get("reason") == "ProgressDeadlineExceeded":
        return None
    return max((_deadline(deployment, condition) - now).total_seconds(), 0.0) + _SLACK_S
