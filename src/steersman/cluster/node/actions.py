"""The actions that bring a pod from its current state to its spec (computePodActions). Pure.

The order in which a worker carries them out: kill the pod or some containers, resize others, create the
sandbox, start ephemeral, init and other containers. A pod with nothing to start and nothing to keep is
terminated: `kill_pod` without `create_sandbox`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from steersman.cluster.node.container_statuses import ObservedPod, needs_start
from steersman.cluster.node.cri import ContainerState, ContainerStatus
from steersman.cluster.node.health import HEALTHY
from steersman.cluster.node.resizing import resizing
from steersman.cluster.node.restarts import is_restartable, should_restart
from steersman.objects.kinds.types.core_v1 import Container
from steersman.objects.pod_lifecycle import is_sidecar

__all__ = ["Actions", "Kill", "pod_actions"]


@dataclass(frozen=True, slots=True)
class Kill:
    """A running container to be killed, and why."""

    container: Container
    status: ContainerStatus
    message: str
    reason: Literal["", "startup", "liveness"] = ""


@dataclass(slots=True)
class Actions:
    """The actions for a pod."""

    kill_pod: bool = False
    create_sandbox: bool = False
    attempt: int = 0
    kill: list[Kill] = field(default_factory=list)
    #: Running containers that get other resources.
    resize: list[tuple[Container, ContainerStatus]] = field(default_factory=list)
    ephemeral: list[Container] = field(default_factory=list)
    init: list[Container] = field(default_factory=list)
    start: list[Container] = field(default_factory=list)

    @property
    def nothing(self) -> bool:
        return not (
            self.kill_pod
            or self.create_sandbox
            or self.kill
            or self.resize
            or self.ephemeral
            or self.init
            or self.start
        )


def pod_actions(view: ObservedPod) -> Actions:
    """What is to be done about a pod that is meant to run."""
    if view.runtime.sandbox is None:
        return _with_new_sandbox(view)
    actions = Actions()
    actions.ephemeral = [
        container
        for container in view.spec.get("ephemeralContainers") or ()
        if view.runtime.latest(container["name"]) is None
    ]
    if not _init_actions(view, actions):
        return actions
    kept = sum(_container_actions(view, container, actions) for container in view.spec["containers"])
    if not kept and not actions.start:
        # Sidecars must not keep alive a pod that is done.
        actions.kill_pod = True
        actions.init = []
    return actions


def _with_new_sandbox(view: ObservedPod) -> Actions:
    """Begin anew: everything of an old sandbox is killed, init containers run again."""
    sandboxes = view.runtime.sandboxes
    actions = Actions(kill_pod=True, attempt=sandboxes[0].attempt + 1 if sandboxes else 0)
    if sandboxes and view.runtime.containers and view.spec.get("restartPolicy") == "Never":
        return actions
    to_start = [one for one in view.spec["containers"] if not _succeeded(view, one)]
    regular = {one["name"] for one in view.spec["containers"]}
    if not to_start and any(one.name in regular for one in view.runtime.containers):
        return actions
    actions.create_sandbox = True
    init = view.spec.get("initContainers") or ()
    if init:
        actions.init = [init[0]]
    else:
        actions.start = to_start
    return actions


def _succeeded(view: ObservedPod, container: Container) -> bool:
    """Whether a container that runs until it succeeds has done so."""
    policy = container.get("restartPolicy") or view.spec.get("restartPolicy")
    latest = view.runtime.latest(container["name"])
    return (
        policy == "OnFailure"
        and latest is not None
        and latest.state is ContainerState.EXITED
        and latest.exit_code == 0
    )


def _container_actions(view: ObservedPod, container: Container, actions: Actions) -> bool:
    """Whether the container is kept running as it is."""
    status = view.runtime.latest(container["name"])
    if status is None or status.state is not ContainerState.RUNNING:
        if needs_start(view, container):
            actions.start.append(container)
        return False
    restart = is_restartable(container, view.spec)
    name = container["name"]
    failed = view.health.get(status.id, HEALTHY).failed
    if _changed(container, status):
        message, restart = f"Container {name} definition changed", True
    elif failed:
        message = f"Container {name} failed {failed} probe"
    elif _resize(container, status, actions):
        actions.kill.append(Kill(container, status, f"Container {name} resize requires restart"))
        actions.start.append(container)
        return False
    else:
        return True
    if restart:
        message += ", will be restarted"
        actions.start.append(container)
    actions.kill.append(Kill(container, status, message, failed))
    return False


def _changed(container: Container, status: ContainerStatus) -> bool:
    """Whether it is not what the spec says now; images are all that may change in a running pod."""
    return bool(container.get("image", "") != status.image)


def _resize(container: Container, status: ContainerStatus, actions: Actions) -> bool:
    """Whether it has to be started again to get the resources that the spec says now."""
    how = resizing(container, status)
    if how == "update":
        actions.resize.append((container, status))
    return how == "restart"


def _init_actions(view: ObservedPod, actions: Actions) -> bool:
    """Whether the pod is initialized, so that its containers run.

    From the last init container backwards: the first one found in the runtime says how far it came, those
    before it matter only if they are sidecars.
    """
    containers = view.spec.get("initContainers") or ()
    if not containers:
        return True
    regular = {container["name"] for container in view.spec["containers"]}
    initialized = any(view.runtime.active(name) is not None for name in regular)
    passed = initialized
    to_start: list[int] = []
    for number in reversed(range(len(containers))):
        container = containers[number]
        status = view.runtime.active(container["name"])
        if status is None:
            if passed and is_sidecar(container):
                to_start.append(number)
            continue
        if passed and not is_sidecar(container):
            continue
        step = _sidecar_step if is_sidecar(container) else _init_step
        verdict = step(view, container, status, actions)
        if verdict == "failed":
            actions.kill_pod = True
            return False
        if verdict == "done" and number == len(containers) - 1:
            initialized = True
        elif verdict == "done" and not passed:
            to_start.append(number + 1)
        if verdict == "start" or any(kill.container is container for kill in actions.kill):
            to_start.append(number)
        passed = True
    if not passed:
        to_start.append(0)
    actions.init = [containers[number] for number in sorted(set(to_start))]
    return initialized


_Verdict = Literal["done", "start", "wait", "failed"]


def _init_step(
    view: ObservedPod, container: Container, status: ContainerStatus, actions: Actions
) -> _Verdict:
    if status.state is ContainerState.RUNNING:
        return "wait"
    if status.state is ContainerState.CREATED:
        return "start"
    if status.state is ContainerState.EXITED and status.exit_code == 0:
        return "done"
    return "start" if should_restart(container, view.spec, status.exit_code) else "failed"


def _sidecar_step(
    view: ObservedPod, container: Container, status: ContainerStatus, actions: Actions
) -> _Verdict:
    if status.state is not ContainerState.RUNNING:
        return "start"
    name = container["name"]
    health = view.health.get(status.id, HEALTHY)
    if health.failed == "startup":
        message = f"Init container {name} failed startup probe"
        actions.kill.append(Kill(container, status, message, "startup"))
        return "wait"
    if not health.started:
        return "wait"
    if _changed(container, status):
        actions.kill.append(Kill(container, status, f"Init container {name} definition changed"))
    elif health.failed:
        message = f"Init container {name} failed liveness probe"
        actions.kill.append(Kill(container, status, message, "liveness"))
    elif _resize(container, status, actions):
        actions.kill.append(Kill(container, status, f"Init container {name} resize requires restart"))
    return "done"
