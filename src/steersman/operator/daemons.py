"""Functions that run beside every object, for as long as it exists and this replica leads.

One task for each object. It ends when the object is to be deleted or the leadership is over, is tried again
with growing waits when it fails, and not again when it returns.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from typing import Any

from steersman.aio import Clock, Scope
from steersman.operator.definition import Daemon
from steersman.operator.reconciling import Reconciler
from steersman.runtime import Cached, Change, Informer, Key, Request, RetryPolicy
from steersman.runtime.sharding import Shard

__all__ = ["Daemons"]

_log = logging.getLogger(__name__)

#: What is there at the start is begun within this time, not all at once.
_SPREAD_S = 2.0


class Daemons:
    """The tasks of one daemon function. Runs under a manager, like a controller."""

    def __init__(
        self,
        name: str,
        daemon: Daemon,
        informer: Informer,
        reconciler: Reconciler[Any],
        *,
        clock: Clock,
        retry: RetryPolicy,
        shard: Shard | None = None,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._daemon = daemon
        self._informer = informer
        self._reconciler = reconciler
        self._clock = clock
        self._retry = retry
        self._rand = rand
        self._shard = shard
        if shard is not None:
            shard.add_worker(self)
        self._tasks: dict[Key, tuple[str, asyncio.Task[None]]] = {}
        self._scope: Scope | None = None

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with Scope() as self._scope:
                self._informer.add_handler(self._on_change)
                await asyncio.get_running_loop().create_future()
        finally:
            self._informer.remove_handler(self._on_change)
            self._scope = None
            self._tasks.clear()

    def _on_change(self, change: Change) -> None:
        new = change.new
        task = self._tasks.get(change.key)
        if task is not None and (new is None or new.uid != task[0] or "deletionTimestamp" in new.metadata()):
            task[1].cancel()
            del self._tasks[change.key]
            task = None
        if new is not None and task is None:
            self._start(new, spread=change.initial)

    def _start(self, cached: Cached, *, spread: bool) -> None:
        key = cached.key
        if self._scope is None or "deletionTimestamp" in cached.metadata():
            return
        if self._shard is not None and not self._shard.owns(key):
            return
        delay_s = self._rand() * _SPREAD_S if spread else 0.0
        running = self._scope.start(self._keep_running(key, delay_s), name=f"{self.name} {key}")
        self._tasks[key] = (cached.uid, running)

    # sharing objects with other members

    def objects(self) -> Iterable[Key]:
        return self._informer.cache.keys()

    def take(self, key: Key) -> None:
        cached = self._informer.cache.get(key)
        if cached is not None and key not in self._tasks:
            self._start(cached, spread=True)

    async def release(self, keep: Callable[[Key], bool], grace_s: float) -> None:
        """Daemons do not end by themselves, so there is nothing to wait for but their own ending."""
        going = [self._tasks.pop(key)[1] for key in list(self._tasks) if not keep(key)]
        for task in going:
            task.cancel()
        if going:
            await asyncio.wait(going)

    async def _keep_running(self, key: Key, delay_s: float) -> None:
        failures = 0
        while True:
            if delay_s:
                await self._clock.sleep(delay_s)
            cached = self._informer.cache.get(key)
            if cached is None:
                return
            request = Request(key, ("daemon",), failures + 1)
            try:
                await self._daemon.function(self._reconciler.context(cached.object(), request))
            except Exception:  # noqa: BLE001 - whatever the author's function does, the others go on
                failures += 1
                delay_s = self._retry.wait_s(failures)
                _log.exception("the daemon %s of %s failed; again in %g s", self.name, key, delay_s)
            else:
                return
