"""What goes wrong on a node.

NodeProblem
├── StartFailed       a container did not start; its reason and message are shown in the pod's status
└── RuntimeFailed     the runtime (or image) service did not do what it was asked
    └── NotHere       there is no such sandbox, container or image
"""

from __future__ import annotations

__all__ = ["NodeProblem", "NotHere", "RuntimeFailed", "StartFailed"]


class NodeProblem(Exception):
    """Anything a node reports about what it runs."""


class StartFailed(NodeProblem):
    """A container could not be started now. `retry_at` (monotonic) is when trying again makes sense."""

    def __init__(self, reason: str, message: str, retry_at: float | None = None) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message
        self.retry_at = retry_at


class RuntimeFailed(NodeProblem):
    """The runtime's own words."""


class NotHere(RuntimeFailed):
    """Asked about something the runtime does not have."""
