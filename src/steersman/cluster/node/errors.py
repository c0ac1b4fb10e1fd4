"""The errors of the node agent.

NodeProblem
├── StartFailed       a container did not start; its reason and message are shown in the pod's status
└── RuntimeFailed     a call of the runtime (or image) service failed
    ├── NotHere       there is no such sandbox, container or image
    └── MountFailed   a pod's volumes are not ready; one sentence for each
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MountFailed", "NodeProblem", "NotHere", "RuntimeFailed", "StartFailed"]


class NodeProblem(Exception):
    """The base class of the node agent's errors."""


class StartFailed(NodeProblem):
    """A container could not be started. `retry_at` (monotonic) is when to retry."""

    def __init__(self, reason: str, message: str, retry_at: float | None = None) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
        self.retry_at = retry_at


class RuntimeFailed(NodeProblem):
    """An error of the runtime or image service, with its message."""


class NotHere(RuntimeFailed):
    """The runtime has no such sandbox, container or image."""


class MountFailed(RuntimeFailed):
    """The errors of each of a pod's volumes that are not ready."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)
