"""Priorities: a leader gives way to a healthy contender of a higher priority.

A contender that follows a leader of a lower priority shows itself by holding a second lock, for as long as it
is well. The leader looks at it; when the same contender has held it for `failbackAfter`, the leader steps
down in order. Others of a lower priority do not contend meanwhile, so that the lock goes to whom it is meant
for. Who leads with which priority is part of its identity: `controller_1f2e#10`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from steersman.aio import Clock, Scope
from steersman.election import Leadership
from steersman.highlander.config.models import TenantConfig
from steersman.highlander.storage import Storage, StorageDown

__all__ = ["Failback", "priority_of"]

#: Between two looks at who leads.
_LOOK_S = 1.0
#: For how long the lock is looked at often, once it may be free any moment.
_HURRY_S = 60.0


def priority_of(identity: str) -> int:
    _, _, text = identity.rpartition("#")
    return int(text) if "#" in identity and text.isdigit() else 0


class Failback:
    """One controller's side of it: `run` shows it while it `is_well`, `look` looks at the others."""

    def __init__(
        self, config: TenantConfig, storage: Storage, clock: Clock, is_well: Callable[[], bool]
    ) -> None:
        self._priority = config.priority
        self._after_s = config.election.failback_after.total_seconds()
        self._storage = storage
        self._clock = clock
        self._is_well = is_well
        self._since = 0.0
        self.preferred = ""
        """Who should lead rather than this controller, when that was last looked at."""

    async def run(self) -> None:
        """Hold the second lock while somebody of a lower priority leads."""
        if not self._storage.is_apart or self._priority == 0:
            return
        elector = self._storage.failback_elector()
        while True:
            if self._is_preferred():
                await elector.run(self._show)
            await self._clock.sleep(_LOOK_S)

    async def look(self) -> None:
        """See who shows itself."""
        if not self._storage.is_apart:
            return
        try:
            holder = await self._storage.failback_holder()
        except StorageDown:
            holder = ""
        preferred = holder if priority_of(holder) > self._priority else ""
        if preferred != self.preferred:
            self.preferred = preferred
            self._since = self._clock.monotonic()

    def is_due(self, leading_since: float) -> bool:
        """Whether somebody has been preferred to a leader for long enough, since that leads."""
        begun = max(self._since, leading_since)
        return bool(self.preferred) and self._clock.monotonic() - begun >= self._after_s

    def _is_preferred(self) -> bool:
        leader = self._storage.elector.leader
        return bool(leader) and priority_of(leader) < self._priority and self._is_well()

    async def _show(self, leadership: Leadership) -> None:
        """The second lock's work: nothing, as long as it is needed."""
        async with Scope() as scope:
            await asyncio.wait((scope.start(self._until_not_preferred()),))

    async def _until_not_preferred(self) -> None:
        due = self._clock.monotonic() + self._after_s
        while self._is_preferred():
            if due <= self._clock.monotonic() < due + _HURRY_S:
                self._storage.elector.hurry()
            await self._clock.sleep(_LOOK_S)
