"""Functions that are called for every object again and again, at fixed times.

The times of an object follow from its uid and the interval alone: they are the same after a restart or a
change of leader, and those of many objects are spread evenly, so neither causes a storm.
"""

from __future__ import annotations

import zlib
from typing import Any

from steersman.operator.definition import Timer
from steersman.operator.reconciling import Reconciler
from steersman.runtime import Cache, Cached, Change, Request, Result
from steersman.runtime.controller import MOVED

#: Reasons that say that this process has just begun to look after an object.
_BEGINNINGS = frozenset(("initial", MOVED))

__all__ = ["TimerReconciler", "appears", "wait_s"]


def wait_s(uid: str, every_s: float, wall: float) -> float:
    """How long from `wall` (Unix time) to the object's next time."""
    phase = zlib.crc32(uid.encode()) / 2**32 * every_s
    return every_s - (wall - phase) % every_s


def appears(change: Change) -> bool:
    """Timers begin with an object; its later changes do not concern them."""
    return change.type == "added" and not change.resync


class TimerReconciler:
    """One timer as its controller calls it: the first call for an object only finds its time."""

    def __init__(self, timer: Timer, cache: Cache, reconciler: Reconciler[Any], wall: Any) -> None:
        self._timer = timer
        self._cache = cache
        self._reconciler = reconciler
        self._wall = wall

    async def __call__(self, request: Request) -> Result:
        cached = self._cache.get(request.key)
        if cached is None or "deletionTimestamp" in cached.metadata():
            return Result.done()
        if not _BEGINNINGS.intersection(request.reasons):
            await self._timer.function(self._reconciler.context(cached.object(), request))
        return Result.requeue(self._wait_s(cached))

    def _wait_s(self, cached: Cached) -> float:
        return wait_s(cached.uid, self._timer.every_s, self._wall())
