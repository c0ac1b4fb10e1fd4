"""How many events were not told, and why. The log hears of each cause once a minute at most.

Called by `events`. What nobody could expect to be told is only counted.
"""

from __future__ import annotations

import logging
from collections import Counter

from steersman.aio import Clock

__all__ = ["LostEvents"]

_log = logging.getLogger(__name__)

_SILENT_S = 60.0


class LostEvents:
    """Counts by cause."""

    def __init__(self, clock: Clock, component: str) -> None:
        self._clock = clock
        self._component = component
        self.by_cause: Counter[str] = Counter()
        self._told_at: dict[str, float] = {}
        self._untold: Counter[str] = Counter()

    @property
    def total(self) -> int:
        return self.by_cause.total()

    def add(self, cause: str, why: object = "", *, expected: bool = False) -> None:
        """One more event was lost; `cause` is one of a few words, `why` is what happened this time."""
        self.by_cause[cause] += 1
        if expected:
            return
        self._untold[cause] += 1
        now = self._clock.monotonic()
        if now - self._told_at.get(cause, -_SILENT_S) < _SILENT_S:
            return
        self._told_at[cause] = now
        count = self._untold.pop(cause)
        detail = f": {why}" if why else ""
        _log.warning("events of %s were dropped, %d more (%s)%s", self._component, count, cause, detail)
