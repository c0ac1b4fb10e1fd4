"""The phase of a pod, from the statuses of its containers. Pure.

| init containers                     | containers                    | phase                               |
|-------------------------------------|-------------------------------|-------------------------------------|
| one failed and is not restarted     | –                             | Failed                              |
| one has not ended well (yet)        | –                             | Pending                             |
| done                                | one has not been started      | Pending                             |
| done                                | one is running                | Running                             |
| done                                | all ended, one to be restarted| Running (unless the pod is to end)  |
| done                                | all ended with 0              | Succeeded                           |
| done                                | all ended, one badly          | Failed                              |

Sidecars count as running while they run; one that has not started yet keeps the pod Pending, unless its
containers ran before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from steersman.cluster.node.restarts import should_restart
from steersman.objects.kinds.enums import PodPhase
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.types.core_v1 import Container, ContainerStateTerminated, PodSpec
from steersman.objects.pod_lifecycle import is_sidecar

__all__ = ["pod_phase"]

Statuses = Mapping[str, core_v1.ContainerStatus]


def pod_phase(
    spec: PodSpec,
    statuses: Sequence[core_v1.ContainerStatus],
    *,
    ending: bool = False,
    initialized: bool = False,
) -> PodPhase:
    """The phase of a pod whose containers (of all kinds) have these statuses.

    `ending`: nothing is restarted any more. `initialized`: its containers ran before.
    """
    by_name = {status["name"]: status for status in statuses}
    init = _count_init(spec, by_name)
    if init["failed for good"]:
        return "Failed"
    counted = _count_containers(spec, by_name)
    if (
        init["pending"]
        or (init["sidecar pending"] and not initialized)
        or init["waiting"] + counted["waiting"]
    ):
        return "Pending"
    unknown = init["unknown"] + counted["unknown"]
    running = init["running"] + counted["running"]
    if running and not unknown:
        return "Running"
    stopped = counted["stopped"]
    if running or not stopped or unknown:
        return "Pending"
    if not ending and stopped != counted["for good"]:
        return "Running"
    return "Succeeded" if stopped == counted["succeeded"] else "Failed"


def _count_init(spec: PodSpec, statuses: Statuses) -> Counter[str]:
    counted: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        status = statuses.get(container["name"])
        count = _count_sidecar if is_sidecar(container) else _count_regular_init
        counted.update(count(container, spec, status))
    return counted


def _count_regular_init(
    container: Container, spec: PodSpec, status: core_v1.ContainerStatus | None
) -> list[str]:
    if status is None or "running" in status["state"]:
        return ["pending"]
    ended = _ended(status)
    if ended is None:
        return ["pending"]
    code = ended.get("exitCode", 0)
    return ["failed for good"] if code != 0 and not should_restart(container, spec, code) else []


def _count_sidecar(container: Container, spec: PodSpec, status: core_v1.ContainerStatus | None) -> list[str]:
    if status is None:
        return ["unknown"]
    if "running" in status["state"]:
        return ["running"] if status.get("started") else ["running", "sidecar pending"]
    if _ended(status) is not None:
        return []
    return ["sidecar pending", "waiting"] if "waiting" in status["state"] else ["sidecar pending", "unknown"]


def _count_containers(spec: PodSpec, statuses: Statuses) -> Counter[str]:
    counted: Counter[str] = Counter()
    for container in spec.get("containers") or ():
        status = statuses.get(container["name"])
        if status is None:
            counted["unknown"] += 1
            continue
        ended = _ended(status)
        if "running" in status["state"]:
            counted["running"] += 1
        elif ended is not None:
            counted["stopped"] += 1
            code = ended.get("exitCode", 0)
            counted["for good"] += not should_restart(container, spec, code)
            counted["succeeded"] += code == 0 and "terminated" in status["state"]
        else:
            counted["waiting" if "waiting" in status["state"] else "unknown"] += 1
    return counted


def _ended(status: core_v1.ContainerStatus) -> ContainerStateTerminated | None:
    """How a container that does not run ended: now, or before it began to wait for its restart."""
    state = status["state"]
    if "terminated" in state:
        terminated: ContainerStateTerminated = state["terminated"]
        return terminated
    if "waiting" in state:
        return (status.get("lastState") or {}).get("terminated")
    return None
