"""Data that plugins keep about one pod from PreFilter until it is bound (CycleState)."""

from __future__ import annotations

from typing import Self, TypeVar

__all__ = ["CycleState", "StateData"]

T = TypeVar("T")


class StateData:
    """Data that a preemption simulation changes: each simulation gets a copy. Other data may be of any
    type.
    """

    __slots__ = ()

    def copy(self) -> Self:
        raise NotImplementedError


class CycleState:
    """Data by plugin. A plugin writes in `pre_filter` or `pre_score` and reads later."""

    __slots__ = ("_notes", "skipped")

    def __init__(self) -> None:
        self._notes: dict[str, object] = {}
        #: The plugins that have nothing to say about the pod's nodes.
        self.skipped: set[str] = set()

    def write(self, name: str, note: object) -> None:
        self._notes[name] = note

    def read(self, name: str, kind: type[T]) -> T:
        """The note; a wrong kind is a mistake in the plugin."""
        note = self._notes[name]
        assert isinstance(note, kind)
        return note

    def find(self, name: str, kind: type[T]) -> T | None:
        note = self._notes.get(name)
        return note if isinstance(note, kind) else None

    def copy(self) -> CycleState:
        twin = CycleState()
        twin.skipped = self.skipped
        twin._notes = {
            name: note.copy() if isinstance(note, StateData) else note for name, note in self._notes.items()
        }
        return twin
