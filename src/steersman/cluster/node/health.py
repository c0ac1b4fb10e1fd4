"""What probes found out about a container: the seam between pod workers and whoever probes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

from steersman.cluster.node.cri import ContainerStatus

__all__ = ["HEALTHY", "Health", "Prober"]


class Health(NamedTuple):
    started: bool
    ready: bool
    #: The probe for whose failure the container has to be killed.
    failed: Literal["", "startup", "liveness"] = ""


HEALTHY: Final = Health(started=True, ready=True)


class Prober(Protocol):
    """Probes the containers of a node, and reports changes like the runtime does."""

    def health(self, container: Mapping[str, Any], status: ContainerStatus) -> Health:
        """Of a running container: what its probes say now. One without probes is healthy."""
        ...
