"""Functions that are called for every object again and again, at fixed times.

The times of an object follow from its uid and the interval alone: they are the same after a restart or a
change of leader, and those of many objects are spread evenly, so neither causes a storm.

A time at which nobody led is missed. A timer that catches up leaves in an annotation of the object when it
was last called. Whoever begins to look after an object, and finds that a time has passed since then or since
it was created, calls the function once, however many were missed, and soon, but not for all objects at once.
What fails or is cut off is not noted, and so it is missed.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from steersman.client import Conflict, NotFound
from steersman.objects.errors import TimeError
from steersman.objects.times import format_micro_time, parse_time
from steersman.operator.definition import Definition, Timer
from steersman.operator.reconciling import Reconciler
from steersman.runtime import Cache, Cached, Change, Request, Result
from steersman.runtime.controller import MOVED
from steersman.runtime.writes import Writes

__all__ = ["TimerReconciler", "appears", "catch_up_s", "last_call_annotation", "wait_s"]

#: Reasons that say that this process has just begun to look after an object.
_BEGINNINGS: Final = frozenset(("initial", MOVED))
#: Missed times are made up for within this part of the interval, and within this time.
_CATCH_UP_PART: Final = 0.2
_CATCH_UP_S: Final = 600.0
#: Clocks do not agree to the last: a call this much (or this part) too early counts for its time.
_EARLY_S: Final = 1.0
_EARLY_PART: Final = 0.01


def wait_s(uid: str, every_s: float, wall: float) -> float:
    """How long from `wall` (Unix time) to the object's next time."""
    return every_s - (wall - _fraction(uid) * every_s) % every_s


def catch_up_s(uid: str, every_s: float, wall: float, last: float) -> float | None:
    """How long to wait from `wall` before making up for times missed since `last`; None if none were."""
    next_s = wait_s(uid, every_s, wall)
    if last > wall + next_s - every_s - _early_s(every_s):
        return None
    soon_s = min(every_s * _CATCH_UP_PART, _CATCH_UP_S)
    # Where the next time is near anyhow, that is it; elsewhere the two are not close together.
    return next_s if next_s <= soon_s else _fraction(uid) * soon_s / 2


def last_call_annotation(operator: str, timer: str) -> str:
    """Where is noted when a timer was last called for an object."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", timer)[:40].strip("-")
    return f"steersman.dev/timer-{readable}-{zlib.crc32(f'{operator}/{timer}'.encode()):08x}"


def appears(change: Change) -> bool:
    """Timers begin with an object; its later changes do not concern them."""
    return change.type == "added" and not change.resync


class TimerReconciler:
    """One timer as its controller calls it: the first call for an object that was there already only finds
    its time."""

    def __init__(
        self,
        timer: Timer,
        definition: Definition[Any],
        cache: Cache,
        reconciler: Reconciler[Any],
        writes: Writes,
        wall: Callable[[], float],
    ) -> None:
        self._timer = timer
        self._resource = definition.resource
        self._annotation = last_call_annotation(definition.name, timer.name)
        self._cache = cache
        self._reconciler = reconciler
        self._writes = writes
        self._wall = wall

    async def __call__(self, request: Request) -> Result:
        cached = self._cache.get(request.key)
        if cached is None or "deletionTimestamp" in cached.metadata():
            return Result.done()
        every_s = self._timer.every_s
        if _BEGINNINGS.intersection(request.reasons):
            return Result.requeue(self._first_wait_s(cached))
        await self._timer.function(self._reconciler.context(cached.object(), request))
        if self._timer.catch_up:
            await self._note(request, cached.uid)
        remaining_s = wait_s(cached.uid, every_s, self._wall())
        return Result.requeue(remaining_s if remaining_s > _early_s(every_s) else remaining_s + every_s)

    def _first_wait_s(self, cached: Cached) -> float:
        uid, every_s, now = cached.uid, self._timer.every_s, self._wall()
        soon_s = None
        if self._timer.catch_up:
            soon_s = catch_up_s(uid, every_s, now, self._last_call(cached))
        return wait_s(uid, every_s, now) if soon_s is None else soon_s

    def _last_call(self, cached: Cached) -> float:
        """Or when there was something to call it for."""
        metadata = cached.metadata()
        noted = (metadata.get("annotations") or {}).get(self._annotation)
        if noted is not None:
            with contextlib.suppress(TimeError):
                return parse_time(noted).timestamp()
        return parse_time(metadata["creationTimestamp"]).timestamp()

    async def _note(self, request: Request, uid: str) -> None:
        now = format_micro_time(datetime.fromtimestamp(self._wall(), UTC))
        patch = {"metadata": {"uid": uid, "annotations": {self._annotation: now}}}
        # It is gone, or another one has its name.
        with contextlib.suppress(NotFound, Conflict):
            await self._writes.patch(self._resource, request.key, patch)


def _fraction(uid: str) -> float:
    return zlib.crc32(uid.encode()) / 2**32


def _early_s(every_s: float) -> float:
    return min(_EARLY_S, every_s * _EARLY_PART)
