"""The containerStatuses of a pod. Pure.

They are computed from the runtime's state, the pod's previous status (a container that the runtime lost is
kept) and the reasons why containers could not be started.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from steersman.cluster.node.cri import ContainerState, ContainerStatus, PodRuntime
from steersman.cluster.node.health import ContainerHealth
from steersman.cluster.node.restarts import should_restart
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.types.core_v1 import (
    Container,
    ContainerStateTerminated,
    Pod,
    PodSpec,
    VolumeMount,
    VolumeMountStatus,
)
from steersman.objects.lifetime import is_deleting
from steersman.objects.pod_lifecycle import is_sidecar
from steersman.objects.times import format_time

__all__ = ["LOST", "ObservedPod", "Reasons", "container_statuses", "needs_start", "time_text"]

#: Container → why it does not run: reason and message.
Reasons = Mapping[str, tuple[str, str]]

#: How a container ended of which nothing is known.
LOST: Final[ContainerStateTerminated] = {
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
    "exitCode": 137,
}
_LOST_RUNNING: Final[ContainerStateTerminated] = {
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was deleted.  "
    "The container used to be Running",
    "exitCode": 137,
}
_DONE_UNSEEN: Final[ContainerStateTerminated] = {
    "reason": "Completed",
    "message": "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally",
    "exitCode": 0,
}


class ObservedPod(NamedTuple):
    """The observed state of a pod."""

    pod: Pod
    runtime: PodRuntime
    runtime_name: str
    #: Of running containers, by ID.
    health: Mapping[str, ContainerHealth]
    reasons: Reasons

    @property
    def spec(self) -> PodSpec:
        return self.pod["spec"]


def time_text(seconds: float) -> str:
    """A moment as statuses show it."""
    return format_time(datetime.fromtimestamp(seconds, UTC))


def needs_start(view: ObservedPod, container: Container) -> bool:
    """Whether the container is to be started (again), now or after some wait."""
    if is_deleting(view.pod):
        return False
    latest = view.runtime.latest(container["name"])
    if latest is None or latest.state in (ContainerState.UNKNOWN, ContainerState.CREATED):
        return True
    if latest.state is ContainerState.RUNNING:
        return False
    return should_restart(container, view.spec, latest.exit_code)


def container_statuses(
    view: ObservedPod,
    containers: Iterable[Container],
    old: Iterable[core_v1.ContainerStatus],
    *,
    init: bool = False,
) -> list[core_v1.ContainerStatus]:
    """The statuses of some containers; init containers in their order, others by name."""
    before = {status["name"]: status for status in old}
    statuses = [
        _status(view, container, before.get(container["name"]), init=init) for container in containers
    ]
    if not init:
        statuses.sort(key=lambda status: str(status["name"]))
    return statuses


def _status(
    view: ObservedPod, container: Container, old: core_v1.ContainerStatus | None, *, init: bool
) -> core_v1.ContainerStatus:
    name = container["name"]
    found = [one for one in view.runtime.containers if one.name == name][:2]
    if found:
        status = _of_runtime(view, container, found, old)
    else:
        status = _of_nothing(view, container, old)
    if not (init and _done_init(view, container, status, found)):
        _explain(view, container, status)
    _judge(view, container, status, found, init=init)
    return status


def _blank(container: Container) -> core_v1.ContainerStatus:
    status: core_v1.ContainerStatus = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {},
        "lastState": {},
    }
    if mounts := [_mount(mount) for mount in container.get("volumeMounts") or ()]:
        status["volumeMounts"] = mounts
    return status


def _mount(mount: VolumeMount) -> VolumeMountStatus:
    shown: VolumeMountStatus = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        shown |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return shown


def _of_runtime(
    view: ObservedPod,
    container: Container,
    found: Sequence[ContainerStatus],
    old: core_v1.ContainerStatus | None,
) -> core_v1.ContainerStatus:
    latest = found[0]
    status = _blank(container)
    status |= {
        "restartCount": latest.attempt,
        "image": latest.image,
        "imageID": latest.image_ref,
        "containerID": f"{view.runtime_name}://{latest.id}",
        "state": _state(view, latest),
        "resources": (container.get("resources") if latest.resources is None else latest.resources) or {},
    }
    if requests := (container.get("resources") or {}).get("requests"):
        status["allocatedResources"] = requests
    if len(found) > 1:
        status["lastState"] = _state(view, found[1])
    elif old is not None and latest.attempt:
        ended = old.get("state") if "terminated" in (old.get("state") or {}) else old.get("lastState")
        same = old.get("containerID") == status["containerID"]
        status["lastState"] = (old.get("lastState") if same else ended) or {}
    return status


def _state(view: ObservedPod, status: ContainerStatus) -> core_v1.ContainerState:
    if status.state is ContainerState.RUNNING:
        return {"running": {"startedAt": time_text(status.started_at)}}
    if status.state is not ContainerState.EXITED:
        return {"waiting": {}}
    terminated: ContainerStateTerminated = {"exitCode": status.exit_code}
    if status.reason:
        terminated["reason"] = status.reason
    if status.message:
        terminated["message"] = status.message
    if status.started_at:
        terminated["startedAt"] = time_text(status.started_at)
    if status.finished_at:
        terminated["finishedAt"] = time_text(status.finished_at)
    terminated["containerID"] = f"{view.runtime_name}://{status.id}"
    return {"terminated": terminated}


def _of_nothing(
    view: ObservedPod, container: Container, old: core_v1.ContainerStatus | None
) -> core_v1.ContainerStatus:
    """The runtime has no such container: not yet, or not any more."""
    if old is not None and "terminated" in (old.get("state") or {}):
        return {**old}
    status = _blank(container)
    status["state"] = {
        "waiting": {"reason": "PodInitializing" if view.spec.get("initContainers") else "ContainerCreating"}
    }
    if old is None:
        return status
    status["restartCount"] = old.get("restartCount", 0)
    status["lastState"] = old.get("lastState") or {}
    if "running" in (old.get("state") or {}) and "terminated" not in status["lastState"]:
        status["lastState"] = {"terminated": {**_LOST_RUNNING}}
        if not is_deleting(view.pod):
            status["restartCount"] += 1
    return status


def _done_init(
    view: ObservedPod, container: Container, status: core_v1.ContainerStatus, found: Sequence[ContainerStatus]
) -> bool:
    """Whether an init container is over and done with, seen or not."""
    if found:
        return found[0].state is ContainerState.EXITED and found[0].exit_code == 0
    regular = {one["name"] for one in view.spec.get("containers") or ()}
    begun = any(one.name in regular for one in view.runtime.containers)
    if begun and not is_sidecar(container) and "waiting" in status["state"]:
        status["state"] = {"terminated": {**_DONE_UNSEEN}}
        return True
    return False


def _explain(view: ObservedPod, container: Container, status: core_v1.ContainerStatus) -> None:
    """Say why a container waits to be started."""
    why = view.reasons.get(container["name"])
    if why is None or not needs_start(view, container):
        return
    if "terminated" in status["state"]:
        status["lastState"] = status["state"]
    reason, message = why
    status["state"] = {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def _judge(
    view: ObservedPod,
    container: Container,
    status: core_v1.ContainerStatus,
    found: Sequence[ContainerStatus],
    *,
    init: bool,
) -> None:
    """Whether it has started and is ready."""
    health = view.health.get(found[0].id) if found and "running" in status["state"] else None
    status["started"] = health is not None and health.started
    if init and not is_sidecar(container):
        status["ready"] = status["state"].get("terminated", {}).get("exitCode") == 0
    else:
        status["ready"] = health is not None and health.started and health.ready
