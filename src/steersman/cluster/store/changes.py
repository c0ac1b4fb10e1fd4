"""Checking and applying one write to one key: preconditions, stamping, and the event.

Pure functions that every engine calls, so that all of them agree on preconditions, stamping and the value of
a deletion's event. Durability and order are left to the engines.
"""

from __future__ import annotations

from typing import TypeAlias

from steersman.cluster.store.errors import Conflict, NotFound, StoreError
from steersman.cluster.store.interface import Event, Record, Stamp

__all__ = ["Change", "change", "refusal"]

#: What watchers are told, and what the key holds afterwards (None: nothing, it was deleted).
Change: TypeAlias = tuple[Event, Record | None]


def refusal(key: str, current: Record | None, expected: int | None, deleting: bool) -> StoreError | None:
    """Why a write that expects the key at `expected` must not happen, None when it may."""
    if deleting and current is None:
        return NotFound(key)
    if expected is not None and expected != (0 if current is None else current.revision):
        return Conflict(key, current)
    return None


def change(key: str, value: bytes | None, revision: int, previous: Record | None, stamp: Stamp) -> Change:
    """Write `value` (None: delete) over `previous` at `revision`."""
    if value is None:
        assert previous is not None, "only what exists is deleted"
        return Event(key, revision, stamp(previous.value, revision), previous, True), None
    kept = stamp(value, revision)
    created = revision if previous is None else previous.created
    return Event(key, revision, kept, previous), Record(key, kept, revision, created)
