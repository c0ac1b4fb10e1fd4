"""The results of container probes: the interface between pod workers and the prober."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, Protocol

from steersman.cluster.node.cri import ContainerEvent, PodRuntime
from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["HEALTHY", "ContainerHealth", "Prober"]


class ContainerHealth(NamedTuple):
    """Whether a container is started, ready and alive."""

    started: bool
    ready: bool
    #: The probe for whose failure the container has to be killed.
    failed: Literal["", "startup", "liveness"] = ""


HEALTHY: Final = ContainerHealth(started=True, ready=True)


class Prober(Protocol):
    """Probes the containers of a node, and reports changes like the runtime does."""

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        """Have `listener` hear of every container whose health has changed."""
        ...

    def health(self, pod: Pod, runtime: PodRuntime) -> Mapping[str, ContainerHealth]:
        """Of a pod's running containers, by ID: what their probes say now. They are probed from the first
        time they are asked about until they do not run any more."""
        ...

    def ended(self, uid: str) -> None:
        """Nothing of the pod runs any more."""
        ...
