"""Pods and what a runtime has of them, for tests of decisions."""

from __future__ import annotations

from typing import Any

from steersman.cluster.node.container_statuses import ObservedPod
from steersman.cluster.node.cri import ContainerState, ContainerStatus, PodRuntime, PodSandboxStatus
from steersman.cluster.node.health import HEALTHY, ContainerHealth

Object = dict[str, Any]

SANDBOX = PodSandboxStatus("box", True, 0, 100.0, ("10.0.0.1",))
NOW = "2026-01-01T00:00:00Z"


def pod(*containers: str, init: tuple[str, ...] = (), sidecars: tuple[str, ...] = (), **spec: Any) -> Object:
    """A pod of containers of these names; `sidecars` are among `init`."""
    return {
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "generation": 3},
        "spec": {
            "restartPolicy": "Always",
            "containers": [{"name": name, "image": "app:1"} for name in containers or ("a",)],
            "initContainers": [
                {"name": name, "image": "app:1", **({"restartPolicy": "Always"} if name in sidecars else {})}
                for name in init
            ],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def container(
    name: str, state: str = "running", code: int = 0, attempt: int = 0, **more: Any
) -> ContainerStatus:
    ended = state == "exited"
    given: Object = {
        "id": f"{name}-{attempt}",
        "sandbox_id": "box",
        "name": name,
        "attempt": attempt,
        "state": ContainerState(state),
        "image": "app:1",
        "image_ref": "app@sha256:1",
        "created_at": 100.0 + attempt,
        "started_at": 100.0 + attempt,
        "finished_at": 101.0 + attempt if ended else 0.0,
        "exit_code": code,
        "reason": ("Error" if code else "Completed") if ended else "",
        **more,
    }
    return ContainerStatus(**given)


def view(
    pod: Object,
    *containers: ContainerStatus,
    health: dict[str, ContainerHealth] | None = None,
    reasons: dict[str, tuple[str, str]] | None = None,
    sandboxes: tuple[PodSandboxStatus, ...] = (SANDBOX,),
) -> ObservedPod:
    """What is known of a pod with these containers, the newest first."""
    known = {one.id: (health or {}).get(one.name, HEALTHY) for one in containers}
    return ObservedPod(pod, PodRuntime(sandboxes, containers), "simulated", known, reasons or {})
