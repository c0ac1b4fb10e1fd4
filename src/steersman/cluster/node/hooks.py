"""The interface for running a container's lifecycle hooks (postStart, preStop)."""

from __future__ import annotations

from typing import Protocol

from steersman.aio import Clock
from steersman.objects.kinds.types.core_v1 import Container, LifecycleHandler, Pod

__all__ = ["HookRunner", "SleepingHooks"]


class HookRunner(Protocol):
    """Runs lifecycle hooks."""

    async def run(
        self,
        pod: Pod,
        container: Container,
        container_id: str,
        handler: LifecycleHandler,
    ) -> None:
        """Run a postStart or preStop handler to its end. Raises `RuntimeFailed`."""
        ...


class SleepingHooks:
    """The hook runner of simulated nodes: sleep hooks sleep, others succeed at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def run(
        self,
        pod: Pod,
        container: Container,
        container_id: str,
        handler: LifecycleHandler,
    ) -> None:
        seconds = (handler.get("sleep") or {}).get("seconds", 0)
        if seconds:
            await self._clock.sleep(seconds)
