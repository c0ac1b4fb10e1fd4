"""The status of a pod as its node reports it. Pure: the observed state and the time in, the status out.

`pod_status` computes the status, `final_status` that of a terminated pod, and `status_patch` the patch from
the API's status to it. Conditions of others are never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from steersman.cluster.node.container_statuses import LOST, ObservedPod, container_statuses
from steersman.cluster.node.phase import pod_phase
from steersman.cluster.node.pod_conditions import OWNED, kubelet_conditions, timed
from steersman.cluster.node.pod_resources import allocated_resources
from steersman.objects.conditions import find_condition
from steersman.objects.kinds import Object
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.types.core_v1 import Pod, PodCondition, PodSpec, PodStatus
from steersman.objects.pod_lifecycle import is_sidecar, is_terminal_phase
from steersman.objects.pods import ContainerField, ContainerStatusField, quality_of_service

__all__ = [
    "NodeTermination",
    "final_status",
    "pod_status",
    "rejected_status",
    "sandbox_problem",
    "status_patch",
]


_CONTAINER_FIELDS: Final[tuple[tuple[ContainerField, ContainerStatusField], ...]] = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)
#: What of a status is the node's to say, besides conditions.
_FIELDS: Final = (
    "phase",
    "reason",
    "message",
    "observedGeneration",
    "hostIP",
    "hostIPs",
    "podIP",
    "podIPs",
    "startTime",
    "qosClass",
    "resources",
    "allocatedResources",
    *(field for _, field in _CONTAINER_FIELDS),
)
#: Lists that a strategic merge would merge, so that they have to be replaced explicitly.
_MERGED_LISTS: Final = ("hostIPs", "podIPs")


@dataclass(frozen=True, slots=True)
class NodeTermination:
    """The reason and message with which a node terminates a pod on its own (eviction, deadline)."""

    reason: str
    message: str
    #: For how long its containers may go on; None: as long as the pod says.
    grace_s: int | None = None
    #: Whether it makes room for others, which is no failure of its own.
    disruption: bool = False


def pod_status(
    view: ObservedPod,
    old: PodStatus,
    *,
    host_ips: tuple[str, ...],
    now: str,
    over: bool = False,
    ending: NodeTermination | None = None,
) -> PodStatus:
    """The status of a pod, following its status `old`.

    `over`: nothing of it runs any more, nor will. With `ending`, that is the node's decision.
    """
    statuses = {
        shown: container_statuses(
            view, view.spec.get(given) or (), old.get(shown) or (), init=given == "initContainers"
        )
        for given, shown in _CONTAINER_FIELDS
    }
    every = [*statuses["containerStatuses"], *statuses["initContainerStatuses"]]
    regular = {container["name"] for container in view.spec.get("containers") or ()}
    initialized = any(view.runtime.active(name) is not None for name in regular)
    phase = pod_phase(view.spec, every, ending=over, initialized=initialized)
    if is_terminal_phase(old.get("phase")):
        # Nobody comes back from there, whoever said so.
        phase = old["phase"]
    status: PodStatus = {"phase": phase}
    if phase == old.get("phase"):
        status |= _told(old, "reason", "message")
    if over and ending is not None and not is_terminal_phase(old.get("phase")):
        phase = "Failed"
        status = {"phase": phase, "reason": ending.reason, "message": ending.message}
    elif not over and is_terminal_phase(phase) and not is_terminal_phase(old.get("phase")):
        # It still holds its share of the node: others would be given it, and be refused.
        status = _told(old, "phase", "reason", "message")
    for shown, listed in statuses.items():
        if listed:
            status[shown] = listed
    status["conditions"] = kubelet_conditions(
        view.pod,
        old,
        phase=phase,
        init_statuses=statuses["initContainerStatuses"],
        statuses=statuses["containerStatuses"],
        sandbox_problem=sandbox_problem(view),
        now=now,
    )
    if ending is not None and ending.disruption and over:
        status["conditions"].append(timed(_disruption(view.pod, ending), old.get("conditions") or (), now))
    return _with_circumstances(status, view, old, host_ips, now)


def _with_circumstances(
    status: PodStatus, view: ObservedPod, old: PodStatus, host_ips: tuple[str, ...], now: str
) -> PodStatus:
    """With what is not about containers: addresses, times, generation."""
    ips = view.runtime.ips or tuple(entry["ip"] for entry in old.get("podIPs") or ())
    if view.spec.get("hostNetwork"):
        ips = host_ips
    if ips:
        status |= {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
    status |= {"hostIP": host_ips[0], "hostIPs": [{"ip": ip} for ip in host_ips]}
    status["qosClass"] = old.get("qosClass") or quality_of_service(dict(view.spec))
    status["startTime"] = old.get("startTime") or now
    status |= allocated_resources(view.spec, old.get("phase"))
    if generation := view.pod["metadata"].get("generation"):
        status["observedGeneration"] = max(generation, old.get("observedGeneration") or 0)
    return status


def sandbox_problem(view: ObservedPod) -> str:
    """What keeps containers from being started, in words; empty if nothing does."""
    if not view.runtime.sandboxes:
        return "no pod sandbox exists"
    return "" if view.runtime.sandbox is not None else "pod sandbox is not ready"


def _disruption(pod: Pod, ending: NodeTermination) -> PodCondition:
    condition: PodCondition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": ending.message,
    }
    if generation := pod["metadata"].get("generation"):
        condition["observedGeneration"] = generation
    return condition


def rejected_status(pod: Pod, reason: str, message: str, now: str) -> PodStatus:
    """The status of a pod that the node does not take."""
    old = pod.get("status") or {}
    status: PodStatus = {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "qosClass": old.get("qosClass") or quality_of_service(pod["spec"]),
        "startTime": old.get("startTime") or now,
        "conditions": [],
    }
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    return status


def final_status(pod: Pod, status: PodStatus) -> PodStatus:
    """The last status of a pod that is deleted: everything has ended, somehow."""
    final: PodStatus = {**status}
    old = pod.get("status") or {}
    if _was_initialized(pod["spec"], old):
        final["containerStatuses"] = [_ended(one) for one in status.get("containerStatuses") or ()]
    inits = list(status.get("initContainerStatuses") or ())
    begun = [number for number, one in enumerate(inits) if _has_begun(one)]
    last = begun[-1] if begun else 0
    if inits:
        final["initContainerStatuses"] = [_ended(one) for one in inits[: last + 1]] + inits[last + 1 :]
    if not is_terminal_phase(final.get("phase")):
        final["phase"] = "Failed"
    return cast("PodStatus", {field: value for field, value in final.items() if value != []})


def _told(status: PodStatus, *fields: Literal["phase", "reason", "message"]) -> PodStatus:
    """These fields of a status, as far as they are set."""
    return cast("PodStatus", {field: value for field in fields if (value := status.get(field))})


def _has_begun(status: core_v1.ContainerStatus) -> bool:
    return "waiting" not in status["state"] or "terminated" in (status.get("lastState") or {})


def _was_initialized(spec: PodSpec, old: PodStatus) -> bool:
    containers = spec.get("initContainers") or ()
    if not containers or any(_has_begun(one) for one in old.get("containerStatuses") or ()):
        return True
    statuses = old.get("initContainerStatuses") or ()
    if not statuses:
        return False
    last = statuses[-1]
    container = next((one for one in containers if one["name"] == last["name"]), None)
    if container is None:
        return False
    if is_sidecar(container):
        return "running" in last["state"] and bool(last.get("started"))
    ends = (last["state"], last.get("lastState") or {})
    return any("terminated" in end and end["terminated"].get("exitCode") == 0 for end in ends)


def _ended(status: core_v1.ContainerStatus) -> core_v1.ContainerStatus:
    if "terminated" in status["state"]:
        return status
    return {**status, "state": {"terminated": {**LOST}}}


def status_patch(old: PodStatus, new: PodStatus) -> Object:
    """A strategic merge patch of a status, empty if it says the same already."""
    patch: Object = {}
    for field in _FIELDS:
        if _bare(old.get(field)) != _bare(new.get(field)):
            value: Any = new.get(field)
            if value and old.get(field) and field in _MERGED_LISTS:
                value = [*value, {"$patch": "replace"}]
            patch[field] = value
    conditions = new.get("conditions") or ()
    changed = [changes for one in conditions if (changes := _condition_patch(old, one))]
    if changed:
        patch["conditions"] = changed
        kept = [one["type"] for one in old.get("conditions") or () if one["type"] not in OWNED]
        order = [*kept, *(one["type"] for one in conditions if one["type"] not in kept)]
        patch["$setElementOrder/conditions"] = [{"type": kind} for kind in order]
    return patch


def _condition_patch(old: PodStatus, new: Mapping[str, Any]) -> Object | None:
    before = find_condition(old.get("conditions"), new["type"])
    if before is None:
        return dict(new)
    bare = _bare(before)
    if bare == new:
        return None
    return {**dict.fromkeys(field for field in bare if field not in new), **new}


def _bare(value: Any) -> Any:
    """Without nulls, which an API server shows for times that are not given."""
    if isinstance(value, dict):
        return {name: _bare(one) for name, one in value.items() if one is not None}
    return [_bare(one) for one in value] if isinstance(value, list) else value
