"""Waiting pods: assigned to a node, but not bound until Permit plugins allow it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from steersman.aio import Clock, wait_for_event
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.runtime import Key

__all__ = ["Permits"]


@dataclass(slots=True)
class _Waiting:
    """A waiting pod and the plugins it waits for."""

    pod: PodInfo
    #: How long each plugin has patience, and since when.
    timeouts: dict[str, float]
    since: float
    refusal: Refusal | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class Permits:
    """The waiting pods, and the decisions of plugins about them."""

    def __init__(self) -> None:
        self._waiting: dict[Key, _Waiting] = {}

    def pods(self) -> list[PodInfo]:
        """Those that wait."""
        return [waiting.pod for waiting in self._waiting.values()]

    def wait(self, pod: PodInfo, plugins: Sequence[tuple[str, float]], now: float) -> None:
        """A pod waits for these plugins, for so many seconds each."""
        self._waiting[pod.key] = _Waiting(pod, dict(plugins), now)

    def allow(self, key: Key, plugin: str) -> None:
        """The plugin lets the pod go; nothing if it does not wait."""
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.timeouts.pop(plugin, None)
            if not waiting.timeouts:
                waiting.settled.set()

    def reject(self, key: Key, plugin: str, reason: str) -> None:
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.refusal = Refusal(plugin, (reason,))
            waiting.settled.set()

    async def allowed(self, key: Key, clock: Clock) -> Refusal | None:
        """Wait for all plugins' word, or for the first to lose patience."""
        waiting = self._waiting[key]
        try:
            while not waiting.settled.is_set():
                plugin, timeout_s = min(waiting.timeouts.items(), key=lambda each: each[1])
                left_s = waiting.since + timeout_s - clock.monotonic()
                if left_s <= 0:
                    text = f"rejected due to timeout after waiting {timeout_s:g}s at plugin {plugin}"
                    return Refusal(plugin, (text,))
                await wait_for_event(waiting.settled, clock, left_s)
            return waiting.refusal
        finally:
            del self._waiting[key]
