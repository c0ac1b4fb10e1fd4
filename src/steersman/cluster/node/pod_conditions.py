"""The pod conditions that the kubelet owns. Pure.

`kubelet_conditions` computes all of them, in display order; a condition whose status did not change keeps its
lastTransitionTime.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from steersman.objects.conditions import find_condition
from steersman.objects.fields import quote
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.types.core_v1 import Pod, PodCondition, PodSpec, PodStatus
from steersman.objects.pod_lifecycle import is_sidecar

__all__ = ["OWNED", "kubelet_conditions", "timed"]


#: The types that only the node writes.
OWNED: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


class _Verdict(NamedTuple):
    """The status, reason and message of a condition."""

    status: str
    reason: str = ""
    message: str = ""


_TRUE: Final = _Verdict("True")


def kubelet_conditions(
    pod: Pod,
    old: PodStatus,
    *,
    phase: str,
    init_statuses: Sequence[core_v1.ContainerStatus],
    statuses: Sequence[core_v1.ContainerStatus],
    sandbox_problem: str,
    now: str,
) -> list[PodCondition]:
    """The conditions of a pod in this phase. `sandbox_problem` says what its sandbox lacks, if anything."""
    spec = pod["spec"]
    by_name = {status["name"]: status for status in (*init_statuses, *statuses)}
    ready = _containers_ready(spec, by_name, phase)
    sandbox = _Verdict("False", "PodSandboxNotReady", sandbox_problem) if sandbox_problem else _TRUE
    verdicts = {
        "PodReadyToStartContainers": sandbox,
        "Initialized": _initialized(spec, by_name, phase, old),
        "Ready": _ready(spec, pod.get("status") or {}, ready),
        "ContainersReady": ready,
        "PodScheduled": _TRUE,
    }
    generation = pod["metadata"].get("generation", 0)
    return [
        timed(_condition(kind, verdicts[kind], generation), old.get("conditions") or (), now)
        for kind in OWNED
    ]


def timed(condition: PodCondition, old: Iterable[PodCondition], now: str) -> PodCondition:
    """The condition with the time since when its status is what it is."""
    before = find_condition(old, condition["type"])
    unmoved = before is not None and before.get("status") == condition["status"]
    since = before.get("lastTransitionTime") if before is not None and unmoved else None
    return {**condition, "lastTransitionTime": since or now}


def _condition(kind: str, verdict: _Verdict, generation: int) -> PodCondition:
    condition: PodCondition = {"type": kind, "status": verdict.status}
    if generation:
        condition["observedGeneration"] = generation
    if verdict.reason:
        condition["reason"] = verdict.reason
    if verdict.message:
        condition["message"] = verdict.message
    return condition


def _containers_ready(spec: PodSpec, statuses: Mapping[str, core_v1.ContainerStatus], phase: str) -> _Verdict:
    sidecars = (one for one in spec.get("initContainers") or () if is_sidecar(one))
    names = [container["name"] for container in (*sidecars, *(spec.get("containers") or ()))]
    unknown = [name for name in names if name not in statuses]
    unready = [name for name in names if name in statuses and not statuses[name].get("ready")]
    if phase == "Succeeded" and not unknown:
        return _Verdict("False", "PodCompleted")
    if phase == "Failed":
        return _Verdict("False", "PodFailed")
    message = _problems(("unknown", unknown), ("unready", unready))
    return _Verdict("False", "ContainersNotReady", message) if message else _TRUE


def _ready(spec: PodSpec, status: PodStatus, containers_ready: _Verdict) -> _Verdict:
    if containers_ready.status != "True":
        return containers_ready
    problems = []
    for gate in spec.get("readinessGates") or ():
        kind = gate["conditionType"]
        condition = find_condition(status.get("conditions"), kind)
        if condition is None:
            problems.append(f"corresponding condition of pod readiness gate {quote(kind)} does not exist.")
        elif condition.get("status") != "True":
            problems.append(
                f'the status of pod readiness gate {quote(kind)} is not "True", but {condition.get("status")}'
            )
    return _Verdict("False", "ReadinessGatesNotReady", ", ".join(problems)) if problems else _TRUE


def _initialized(
    spec: PodSpec, statuses: Mapping[str, core_v1.ContainerStatus], phase: str, old: PodStatus
) -> _Verdict:
    containers = spec.get("initContainers") or ()
    unknown = [one["name"] for one in containers if one["name"] not in statuses]
    incomplete = [
        one["name"]
        for one in containers
        if one["name"] in statuses
        and not statuses[one["name"]].get("started" if is_sidecar(one) else "ready")
    ]
    if phase == "Succeeded" and not unknown:
        return _Verdict("True", "PodCompleted")
    if any(_has_run(statuses.get(one["name"])) for one in spec.get("containers") or ()):
        return _TRUE
    message = _problems(("unknown", unknown), ("incomplete", incomplete))
    before = find_condition(old.get("conditions"), "Initialized")
    if not message or (before is not None and before.get("status") == "True"):
        return _TRUE
    return _Verdict("False", "ContainersNotInitialized", message)


def _has_run(status: core_v1.ContainerStatus | None) -> bool:
    return status is not None and ("running" in status["state"] or "terminated" in status["state"])


def _problems(*found: tuple[str, Sequence[str]]) -> str:
    return ", ".join(f"containers with {what} status: [{' '.join(names)}]" for what, names in found if names)
