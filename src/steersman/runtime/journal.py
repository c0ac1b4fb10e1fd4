"""What a controller did lately, object by object: why, for how long, what it wrote, how it ended.

Kept in memory and bounded twice, by objects and by reconciles of each, so that it costs next to nothing and
never grows. `steer why` and `steer top` show it; `insight` serves it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from contextvars import ContextVar
from typing import NamedTuple

from steersman.objects.resource_type import ResourceType
from steersman.runtime.keys import Key
from steersman.runtime.requests import Outcome, Request

__all__ = ["Entry", "Journal", "Notes", "note_write"]

#: How many objects are remembered, those worked on last, and how many reconciles of each.
_OBJECTS = 1_000
_RECONCILES = 10
#: One that writes more than this is not told apart from one that writes even more.
_MOST_WRITES = 50
_MOST_LETTERS = 500


class Notes(NamedTuple):
    """Taken while a reconcile runs: when it began, and what it writes."""

    at: float
    writes: list[str]


_notes: ContextVar[Notes | None] = ContextVar("notes of this reconcile", default=None)


class Entry(NamedTuple):
    """One reconcile."""

    at: float
    """When it began, in seconds since the epoch."""
    id: str
    reasons: tuple[str, ...]
    attempt: int
    seconds: float
    result: str
    error: str
    """Empty if there was none."""
    again_after_s: float | None
    writes: tuple[str, ...]


class Journal:
    """Of one controller."""

    def __init__(self) -> None:
        self._objects: OrderedDict[Key, deque[Entry]] = OrderedDict()

    def begin(self, at: float) -> Notes:
        """What is written from here on, in this task and those it starts, is noted."""
        notes = Notes(at, [])
        _notes.set(notes)
        return notes

    def record(self, notes: Notes, request: Request, outcome: Outcome) -> None:
        entries = self._objects.get(request.key)
        if entries is None:
            entries = self._objects[request.key] = deque(maxlen=_RECONCILES)
            if len(self._objects) > _OBJECTS:
                self._objects.popitem(last=False)
        else:
            self._objects.move_to_end(request.key)
        error = outcome.error
        entries.append(
            Entry(
                notes.at,
                request.reconcile_id,
                request.reasons,
                request.attempt,
                outcome.seconds,
                outcome.result,
                # As text: an error's frames would keep all that the reconcile had in hand.
                "" if error is None else f"{type(error).__name__}: {error}"[:_MOST_LETTERS],
                outcome.again_after_s,
                tuple(notes.writes),
            )
        )

    def of(self, key: Key) -> list[Entry]:
        """The last reconciles of an object, the newest last."""
        return list(self._objects.get(key, ()))

    def __iter__(self) -> Iterator[tuple[Key, list[Entry]]]:
        """All objects, those worked on last at the end."""
        return ((key, list(entries)) for key, entries in self._objects.items())


def note_write(verb: str, resource: ResourceType, key: Key | None, subresource: str = "") -> None:
    """Say that the reconcile which this is part of has changed something."""
    notes = _notes.get()
    if notes is not None and len(notes.writes) < _MOST_WRITES:
        what = f"{resource.plural}/{subresource}" if subresource else resource.plural
        notes.writes.append(f"{verb} {what} {key}" if key is not None else f"{verb} {what}")
