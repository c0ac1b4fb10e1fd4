"""Which pods are living copies, and what is shown of them.

**A pod is a living copy until its object is gone, or its node says that all its containers have ended.**
Nothing else proves an end: not a deletionTimestamp, not a node that is silent, not a phase that the garbage
collector of pods wrote for a node that is gone. Whoever force-deletes a pod, or the Node it runs on, vouches
for it that nothing of it runs any more; Highlander itself never does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steersman.highlander.state import PodView
from steersman.highlander.workloads.ownership import WorkloadKey, epoch_of
from steersman.objects.conditions import find_condition, is_ready
from steersman.objects.lifetime import is_deleting
from steersman.objects.pod_lifecycle import is_terminal_phase
from steersman.objects.times import parse_time

__all__ = ["is_living", "living", "pod_view"]


def living(pods: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [pod for pod in pods if is_living(pod)]


def is_living(pod: Mapping[str, Any]) -> bool:
    status = pod.get("status") or {}
    if not is_terminal_phase(status.get("phase")):
        return True
    disruption = find_condition(status.get("conditions"), "DisruptionTarget")
    if disruption is not None and disruption.get("reason") == "DeletionByPodGC":
        return True
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return any((each.get("state") or {}).get("running") is not None for each in statuses)


def pod_view(pod: Mapping[str, Any], key: WorkloadKey) -> PodView:
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    statuses = status.get("containerStatuses") or ()
    containers = spec.get("containers") or ()
    ending = is_deleting(pod)
    return PodView(
        name=metadata["name"],
        namespace=metadata.get("namespace") or "",
        workload=key.name,
        kind=key.kind,
        phase="Terminating" if ending and is_living(pod) else status.get("phase") or "Pending",
        ready=not ending and is_ready(pod),
        restarts=sum(each.get("restartCount") or 0 for each in statuses),
        node=spec.get("nodeName") or "",
        ip=status.get("podIP") or "",
        epoch=epoch_of(pod),
        controller_id=(metadata.get("labels") or {}).get("controller-id", ""),
        created=_time(metadata.get("creationTimestamp")),
        started=_time(status.get("startTime")),
        reason=_reason(status),
        containers=tuple(each["name"] for each in containers),
        images=tuple(each.get("image") or "" for each in containers),
        host_ip=status.get("hostIP") or "",
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
    )


def _time(text: str | None) -> float | None:
    return parse_time(text).timestamp() if text else None


def _reason(status: Mapping[str, Any]) -> str:
    """Why it is not as it should be, if it says so."""
    if status.get("reason"):
        return f"{status['reason']}: {status.get('message') or ''}".rstrip(": ")
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state = each.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return f"{each['name']}: {waiting['reason']} {waiting.get('message') or ''}".rstrip()
        if ended.get("exitCode"):
            return f"{each['name']}: {ended.get('reason') or 'Error'}, exit code {ended['exitCode']}"
    return ""
