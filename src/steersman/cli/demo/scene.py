"""What is going on in the demo at a moment: its pods, and who answers at the app's address."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from steersman.http import Client
from steersman.http.errors import ClientError
from steersman.runtime import Cache, Cached

__all__ = ["PodLine", "Scene"]

_PAUSE_S: Final = 0.05
_PATIENCE_S: Final = 5.0


class PodLine(NamedTuple):
    name: str
    state: str
    ready: bool
    address: str
    restarts: int


@dataclass(slots=True)
class Scene:
    pods: Cache
    kubeconfig: Path
    #: Where a browser finds the app; empty until it answers.
    url: str = ""
    wanted: int = 0
    said: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    failures: int = 0

    def say(self, text: str) -> None:
        self.said.append(text)

    def pod_lines(self) -> list[PodLine]:
        return sorted(_line(cached) for cached in self.pods)

    @property
    def ready(self) -> int:
        """How many pods can be sent to, of those that are to stay."""
        return sum(line.ready and line.state != "Terminating" for line in self.pod_lines())

    @property
    def settled(self) -> bool:
        return self.ready == self.wanted == len(self.pods)

    async def ask_forever(self) -> None:
        """Ask the app all the time, on a new connection each time, and remember who answered."""
        while True:
            if self.url:
                await self._ask()
            await asyncio.sleep(_PAUSE_S)

    async def _ask(self) -> None:
        """As a browser does: a connection that breaks is tried once more."""
        for _ in range(2):
            with contextlib.suppress(ClientError, TimeoutError):
                async with asyncio.timeout(_PATIENCE_S), Client(self.url) as client:
                    answer = await client.request("GET", "/who")
                if answer.status == 200:
                    self.answers[answer.content.decode()] += 1
                    return
        self.failures += 1


def _line(cached: Cached) -> PodLine:
    pod = cached.object()
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or ()
    waiting = [(one.get("state") or {}).get("waiting") or {} for one in containers]
    reasons = [one["reason"] for one in waiting if one.get("reason")]
    state = "Terminating" if pod["metadata"].get("deletionTimestamp") else status.get("phase", "Pending")
    return PodLine(
        pod["metadata"]["name"],
        reasons[0] if reasons and state == "Pending" else state,
        bool(containers) and all(one.get("ready") for one in containers),
        status.get("podIP", ""),
        sum(one.get("restartCount", 0) for one in containers),
    )
