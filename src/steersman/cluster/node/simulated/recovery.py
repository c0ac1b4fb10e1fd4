"""Restores the simulated runtime's state of a pod from the pod's status. Pure."""

from __future__ import annotations

from steersman.cluster.node.cri import ContainerState, ContainerStatus, PodSandboxStatus
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.pods import CONTAINER_STATUS_FIELDS
from steersman.objects.times import parse_time

__all__ = ["recovered"]


def recovered(pod: Pod, runtime_name: str) -> tuple[PodSandboxStatus, list[ContainerStatus]] | None:
    """The pod's sandbox and containers (the newest first); None if none of them was this runtime's."""
    status = pod.get("status") or {}
    sandbox_id = pod["metadata"]["uid"]
    containers: list[ContainerStatus] = []
    for field in CONTAINER_STATUS_FIELDS:
        for one in status.get(field) or ():
            made = _container(one, sandbox_id, f"{runtime_name}://")
            if made is not None:
                containers.insert(0, made)
    if not containers:
        return None
    ips = tuple(entry["ip"] for entry in status.get("podIPs") or ())
    if pod["spec"].get("hostNetwork"):
        ips = ()
    return PodSandboxStatus(sandbox_id, True, 0, _seconds(status.get("startTime")), ips), containers


def _container(status: core_v1.ContainerStatus, sandbox_id: str, scheme: str) -> ContainerStatus | None:
    container_id = status.get("containerID", "")
    state = status.get("state") or {}
    if not container_id.startswith(scheme) or ("waiting" in state and not status.get("lastState")):
        return None
    running = state.get("running")
    ended = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    return ContainerStatus(
        id=container_id.removeprefix(scheme),
        sandbox_id=sandbox_id,
        name=status["name"],
        attempt=status.get("restartCount", 0),
        state=ContainerState.RUNNING if running is not None else ContainerState.EXITED,
        image=status.get("image", ""),
        image_ref=status.get("imageID", ""),
        created_at=_seconds((running or ended).get("startedAt")),
        started_at=_seconds((running or ended).get("startedAt")),
        finished_at=0.0 if running is not None else _seconds(ended.get("finishedAt")),
        exit_code=0 if running is not None else ended.get("exitCode", 0),
        reason="" if running is not None else ended.get("reason", ""),
        message="" if running is not None else ended.get("message", ""),
        resources=status.get("resources"),
    )


def _seconds(text: str | None) -> float:
    return parse_time(text).timestamp() if text else 0.0
