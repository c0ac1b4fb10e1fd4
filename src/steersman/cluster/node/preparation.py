"""The interface for preparing a pod and its containers before they are created: volumes and environment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from steersman.cluster.node.cri import ContainerEvent, Mount
from steersman.objects.kinds.types.core_v1 import Container, Pod

__all__ = ["NoPreparation", "Preparation", "Prepared"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A container ready to be created: every reference resolved, every `$(VAR)` expanded."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    mounts: tuple[Mount, ...] = ()


class Preparation(Protocol):
    """Prepares pods and containers."""

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        """Have `listener` hear when a pod should be looked at again."""
        ...

    def notice(self, pod: Pod) -> None:
        """A pod is as given now, and may have been prepared before this process was started."""
        ...

    async def pod(self, pod: Pod) -> None:
        """Have the pod's volumes ready, or raise `MountFailed` with what keeps them from being so; the pod
        is asked for again later."""
        ...

    async def container(self, pod: Pod, container: Container, ips: Sequence[str]) -> Prepared:
        """Raises `StartFailed` when something the container refers to is not there."""
        ...

    def excess(self, uid: str) -> str:
        """Why a pod has to be evicted for what it uses of its volumes; empty if it need not be."""
        ...

    async def ended(self, uid: str) -> None:
        """Nothing of the pod runs any more: take away what was made for it."""
        ...

    def sweep(self, live: Collection[str]) -> None:
        """Take away what was made for pods that are none of these any more."""
        ...

    def left(self) -> None:
        """The node stops and nothing of its pods runs any more: take away what must not stay on a machine."""
        ...


class NoPreparation:
    """The preparation of simulated nodes: nothing to do."""

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        return None

    def notice(self, pod: Pod) -> None:
        return None

    def excess(self, uid: str) -> str:
        return ""

    async def pod(self, pod: Pod) -> None:
        return None

    async def container(self, pod: Pod, container: Container, ips: Sequence[str]) -> Prepared:
        return Prepared()

    async def ended(self, uid: str) -> None:
        return None

    def sweep(self, live: Collection[str]) -> None:
        return None

    def left(self) -> None:
        return None
