"""Which Event object tells of an occurrence, so that a busy controller does not drown its users. Pure.

Called by `events`, which sends. In this order:
1. Per object a budget: 25 at once, then one every 300 s. What is beyond it is dropped.
2. From the tenth on, occurrences within 600 s that differ only in their words are told by one Event, in the
   words of the latest.
3. The same occurrence again within 600 s is counted in the series of its Event.

`Isomorphic` is the scheduler's simpler way: what happens again to an object that has not changed is counted,
whatever its words.

What is remembered is bounded; what is forgotten begins anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

__all__ = ["COMBINED", "Correlating", "Correlator", "Isomorphic", "Occurrence", "Reference", "Series"]

COMBINED = "(combined from similar events): "

_WINDOW_S = 600.0
_SIMILAR = 10
_BURST = 25
_REFILL_S = 300.0
_REMEMBERED = 4096
#: When a series of the scheduler ends, and how long one that goes on is not written anew.
_FINISH_S = 360.0
_REFRESH_S = 1800.0
_TOLD_AT_ONCE = 2

V = TypeVar("V")


class Reference(NamedTuple):
    """An object, as an Event names it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    #: Which part of it: `spec.containers{app}`.
    field_path: str = ""
    resource_version: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """The object and its part, whatever its version."""
        return self[:6]

    @property
    def object_identity(self) -> tuple[str, ...]:
        return self[:5]


class Occurrence(NamedTuple):
    regarding: Reference
    type: str
    reason: str
    note: str
    action: str
    related: Reference | None = None

    @property
    def kind(self) -> Hashable:
        """All of it but the words and the part of the object."""
        related = self.related.identity if self.related else None
        return self.regarding.object_identity, self.type, self.reason, self.action, related


@dataclass(slots=True, eq=False)
class Series:
    """One Event object and how often it happened."""

    occurrence: Occurrence
    count: int
    last_at: float
    #: It stands for occurrences with different words.
    is_combined: bool = False
    #: For the sender: the object's name once it was created, and how often that failed.
    name: str = ""
    failures: int = 0


@dataclass(slots=True)
class _Budget:
    tokens: float
    at: float


@dataclass(slots=True)
class _Similar:
    last_at: float
    notes: dict[str, None] = field(default_factory=dict)


class _Memory(Generic[V]):
    """The values used last, by key."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = make()
            if len(self._values) > _REMEMBERED:
                self._values.popitem(last=False)
        self._values.move_to_end(key)
        return value

    def put(self, key: Hashable, value: V) -> None:
        self._values[key] = value


class Correlating(Protocol):
    """Finds the Event object of an occurrence."""

    def observe(self, occurrence: Occurrence, now: float) -> Series | None:
        """The series to write, counted already; None if nothing is to be written."""


class Correlator:
    """Remembers what happened lately."""

    def __init__(self, series_s: float = _WINDOW_S) -> None:
        """A series that was silent for longer than `series_s` is over."""
        self._series_s = series_s
        self._budgets: _Memory[_Budget] = _Memory()
        self._similar: _Memory[_Similar] = _Memory()
        self._series: _Memory[Series] = _Memory()
        self.dropped = 0

    def observe(self, occurrence: Occurrence, now: float) -> Series | None:
        """The series it belongs to, counted already; None if the object has told too much lately."""
        if not self._may_tell(occurrence, now):
            self.dropped += 1
            return None
        occurrence, key, is_combined = self._combined(occurrence, now)
        series = self._series.get(key, lambda: Series(occurrence, 0, now, is_combined))
        if now - series.last_at > self._series_s:
            series = Series(occurrence, 0, now, is_combined)
            self._series.put(key, series)
        series.occurrence = occurrence
        series.count += 1
        series.last_at = now
        return series

    def _may_tell(self, occurrence: Occurrence, now: float) -> bool:
        key = (occurrence.regarding.object_identity, occurrence.type)
        budget = self._budgets.get(key, lambda: _Budget(_BURST, now))
        budget.tokens = min(_BURST, budget.tokens + (now - budget.at) / _REFILL_S)
        budget.at = now
        if budget.tokens < 1:
            return False
        budget.tokens -= 1
        return True

    def _combined(self, occurrence: Occurrence, now: float) -> tuple[Occurrence, Hashable, bool]:
        """The occurrence to tell of, the key of its series, whether that stands for several."""
        kind = occurrence.kind
        similar = self._similar.get(kind, lambda: _Similar(now))
        if now - similar.last_at > _WINDOW_S:
            similar.notes.clear()
        similar.last_at = now
        similar.notes[occurrence.note] = None
        if len(similar.notes) < _SIMILAR:
            return occurrence, (kind, occurrence.regarding.field_path, occurrence.note), False
        # As many as the limit are enough to know, however many different ones come.
        del similar.notes[next(iter(similar.notes))]
        return occurrence._replace(note=COMBINED + occurrence.note), (kind, "", None), True


class Isomorphic:
    """Counts what happens again to the very same version of an object, without limits."""

    def __init__(self) -> None:
        self._series: _Memory[_Isomorphism] = _Memory()

    def observe(self, occurrence: Occurrence, now: float) -> Series | None:
        """The series on its first and second occurrence, then every half an hour."""
        key = occurrence._replace(note="")
        known = self._series.get(key, lambda: _Isomorphism(Series(occurrence, 0, now), now))
        if now - known.series.last_at > _FINISH_S:
            known = _Isomorphism(Series(occurrence, 0, now), now)
            self._series.put(key, known)
        series = known.series
        series.count += 1
        series.last_at = now
        if series.count > _TOLD_AT_ONCE and now - known.written_at < _REFRESH_S:
            return None
        known.written_at = now
        return series


@dataclass(slots=True)
class _Isomorphism:
    series: Series
    written_at: float
