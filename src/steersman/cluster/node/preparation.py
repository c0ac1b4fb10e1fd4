"""What a pod and its containers need before they can be made: volumes, environment. The seam for who makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from steersman.cluster.node.cri import Mount

__all__ = ["Nothing", "Preparation", "Prepared"]

Pod = Mapping[str, Any]
Container = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is known of a container when it is made, with every reference resolved and every `$(VAR)` expanded."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    mounts: tuple[Mount, ...] = ()


class Preparation(Protocol):
    async def pod(self, pod: Pod) -> None:
        """Have the pod's volumes ready, or raise `RuntimeFailed` with what keeps them from being so; the pod
        is asked for again later."""
        ...

    async def container(self, pod: Pod, container: Container, ips: Sequence[str]) -> Prepared:
        """Raises `StartFailed` when something the container refers to is not there."""
        ...

    async def ended(self, uid: str) -> None:
        """Nothing of the pod runs any more: take away what was made for it."""
        ...


class Nothing:
    """For engines that run nothing."""

    async def pod(self, pod: Pod) -> None:
        return None

    async def container(self, pod: Pod, container: Container, ips: Sequence[str]) -> Prepared:
        return Prepared()

    async def ended(self, uid: str) -> None:
        return None
