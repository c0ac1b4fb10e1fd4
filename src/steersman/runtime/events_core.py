"""Which Event object tells of an occurrence, so that a busy controller does not drown its users. Pure.

Called by `events`, which sends. In this order:
1. Per object a budget: 25 at once, then one every 300 s. What is beyond it is dropped.
2. More than 10 occurrences within 600 s that differ only in their words are told by one Event.
3. The same occurrence again within 600 s is counted in the series of its Event.

What is remembered is bounded; what is forgotten begins anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

__all__ = ["COMBINED", "Correlator", "Occurrence", "Reference", "Series"]

COMBINED = "(combined from similar events): "

_WINDOW_S = 600.0
_SIMILAR = 10
_BURST = 25
_REFILL_S = 300.0
_REMEMBERED = 4096

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
        return self[:6]


class Occurrence(NamedTuple):
    regarding: Reference
    type: str
    reason: str
    note: str
    action: str
    related: Reference | None = None

    @property
    def kind(self) -> Hashable:
        """All of it but the words."""
        related = self.related.identity if self.related else None
        return self.regarding.identity, self.type, self.reason, self.action, related


@dataclass(slots=True, eq=False)
class Series:
    """One Event object and how often it happened."""

    occurrence: Occurrence
    count: int
    last_at: float
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


class Correlator:
    """Remembers what happened lately."""

    def __init__(self) -> None:
        self._budgets: _Memory[_Budget] = _Memory()
        self._similar: _Memory[_Similar] = _Memory()
        self._series: _Memory[Series] = _Memory()
        self.dropped = 0

    def observe(self, occurrence: Occurrence, now: float) -> Series | None:
        """The series it belongs to, counted already; None if the object has told too much lately."""
        if not self._may_tell(occurrence.regarding, now):
            self.dropped += 1
            return None
        occurrence, key = self._combined(occurrence, now)
        series = self._series.get(key, lambda: Series(occurrence, 0, now))
        if now - series.last_at > _WINDOW_S:
            series = Series(occurrence, 0, now)
            self._series.put(key, series)
        series.count += 1
        series.last_at = now
        return series

    def _may_tell(self, regarding: Reference, now: float) -> bool:
        budget = self._budgets.get(regarding.identity, lambda: _Budget(_BURST, now))
        budget.tokens = min(_BURST, budget.tokens + (now - budget.at) / _REFILL_S)
        budget.at = now
        if budget.tokens < 1:
            return False
        budget.tokens -= 1
        return True

    def _combined(self, occurrence: Occurrence, now: float) -> tuple[Occurrence, Hashable]:
        """The occurrence to tell of and the key of its series."""
        kind = occurrence.kind
        similar = self._similar.get(kind, lambda: _Similar(now))
        if now - similar.last_at > _WINDOW_S:
            similar.notes.clear()
        similar.last_at = now
        similar.notes[occurrence.note] = None
        if len(similar.notes) <= _SIMILAR:
            return occurrence, (kind, occurrence.note)
        # One more than the limit is enough to know, however many different ones come.
        del similar.notes[next(iter(similar.notes))]
        similar.notes[occurrence.note] = None
        return occurrence._replace(note=COMBINED + occurrence.note), (kind, None)
