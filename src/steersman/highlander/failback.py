"""Priorities: a leader gives way to a healthy contender of a higher priority.

A contender that follows a leader of a lower priority shows itself by holding a second lock. The leader looks
at it; when the same contender has held it for `failbackAfter`, the leader steps down in order. Who leads with
which priority is part of its identity: `controller_1f2e#10`.
"""

from __future__ import annotations

import asyncio

from steersman.aio import Clock, Scope
from steersman.election import Leadership
from steersman.highlander.config.models import TenantConfig
from steersman.highlander.storage import Storage, StorageDown

__all__ = ["Failback", "priority_of"]

#: Between two looks at who leads.
_LOOK_S = 2.0


def priority_of(identity: str) -> int:
    _, _, text = identity.rpartition("#")
    return int(text) if "#" in identity and text.isdigit() else 0


class Failback:
    """One controller's side of it: `run` shows it, `is_due` looks at the others."""

    def __init__(self, config: TenantConfig, storage: Storage, clock: Clock) -> None:
        self._priority = config.priority
        self._after_s = config.election.failback_after.total_seconds()
        self._storage = storage
        self._clock = clock
        self._active = storage.has_failback and not config.remains_follower
        self._since: float | None = None
        self.preferred = ""

    async def run(self) -> None:
        """Hold the second lock while somebody of a lower priority leads."""
        if not self._active or self._priority == 0:
            return
        elector = self._storage.failback_elector()
        while True:
            if self._is_preferred():
                await elector.run(self._show)
            await self._clock.sleep(_LOOK_S)

    async def is_due(self) -> bool:
        """Asked by a leader, now and then: whether to give way."""
        if not self._active:
            return False
        try:
            holder = await self._storage.failback_holder()
        except StorageDown:
            holder = ""
        now = self._clock.monotonic()
        if priority_of(holder) <= self._priority or holder != self.preferred:
            self.preferred = holder
            self._since = now if priority_of(holder) > self._priority else None
        return self._since is not None and now - self._since >= self._after_s

    def _is_preferred(self) -> bool:
        leader = self._storage.elector.leader
        return bool(leader) and priority_of(leader) < self._priority

    async def _show(self, leadership: Leadership) -> None:
        """The second lock's work: nothing, as long as it is needed."""
        async with Scope() as scope:
            await asyncio.wait((scope.start(self._until_not_preferred()),))

    async def _until_not_preferred(self) -> None:
        while self._is_preferred():
            await self._clock.sleep(_LOOK_S)
