"""What handlers are told: a change of one object, and whoever wants to hear of it.

`Handlers` belongs to one cache. Handlers are plain functions that note what they heard (as a work queue
does) and return at once; one that raises is reported and does not keep the others from hearing.

A change that a writer made itself is news to everyone but the writer. Since the watch is often faster
than the answer to the write, changes of an object that is being written are held back from its writer
until the answer tells which of them are its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import msgspec

from steersman.runtime.cached import Cached
from steersman.runtime.keys import Key

__all__ = ["Change", "Handler", "Handlers"]

_log = logging.getLogger(__name__)


class Change(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One object of a cache is not what it was."""

    type: Literal["added", "modified", "deleted"]
    key: Key
    old: Cached | None
    new: Cached | None
    initial: bool = False
    """It was there when the cache was filled, or when the handler came."""
    resync: bool = False
    """Nothing has changed; it is shown again so that what was missed is noticed."""

    def __repr__(self) -> str:
        return f"Change({self.type} {self.key}: {self.old} → {self.new})"


Handler = Callable[[Change], None]

_NOBODY: Final = object()

#: An object and who writes it.
_Identity = tuple[Key, Hashable]


@dataclass(slots=True, eq=False)
class _Registered:
    handler: Handler
    writer: Hashable

    def tell(self, change: Change) -> None:
        try:
            self.handler(change)
        except Exception:  # noqa: BLE001 - the others must hear of it
            _log.exception("a handler failed for %s", change.key)


class _Later(NamedTuple):
    """A change to be told when a write is done."""

    registered: _Registered
    change: Change
    combined: bool


@dataclass(slots=True, eq=False)
class _Held:
    """What a writer is not told while its write of an object is under way."""

    writes: int = 0
    changes: list[_Later] = field(default_factory=list)
    #: The states the writer made: the version it wrote, or the uid it deleted.
    own: set[int | str] = field(default_factory=set)

    def is_own(self, change: Change) -> bool:
        if change.new is not None:
            return change.new.resource_version in self.own
        return change.old is not None and change.old.uid in self.own


class _Holding:
    """Surrounds a write of one object by one writer. A class, since a generator takes longer to enter."""

    __slots__ = ("_all", "_identity")

    def __init__(self, held: dict[_Identity, _Held], identity: _Identity) -> None:
        self._all = held
        self._identity = identity

    def __enter__(self) -> None:
        held = self._all.get(self._identity)
        if held is None:
            held = self._all[self._identity] = _Held()
        held.writes += 1

    def __exit__(self, *_failure: object) -> None:
        held = self._all[self._identity]
        held.writes -= 1
        if held.writes:
            return
        del self._all[self._identity]
        for later in held.changes:
            if later.combined or not held.is_own(later.change):
                later.registered.tell(later.change)


class Handlers:
    """Who hears of the changes of one cache."""

    __slots__ = ("_held", "_registered")

    def __init__(self) -> None:
        self._registered: tuple[_Registered, ...] = ()
        self._held: dict[_Identity, _Held] = {}

    def add(self, handler: Handler, writer: Hashable = None) -> Callable[[Change], None]:
        """Have `handler` hear everything but what `writer` writes; returns how to tell it alone."""
        registered = _Registered(handler, writer)
        self._registered += (registered,)
        return registered.tell

    @property
    def listening(self) -> bool:
        """Whether there is anybody to tell."""
        return bool(self._registered)

    def remove(self, handler: Handler) -> None:
        self._registered = tuple(one for one in self._registered if one.handler != handler)

    def tell(self, change: Change) -> None:
        """Tell everyone what one event of the watch brought."""
        self._tell(change, _NOBODY)

    def tell_all(self, changes: Iterable[Change]) -> None:
        """Tell everyone what a list brought: each may be several changes in one, so none is an echo."""
        for change in changes:
            self._tell(change, _NOBODY, combined=True)

    def tell_others(self, change: Change, writer: Hashable) -> None:
        """Tell everyone but the writer, who knows."""
        self._tell(change, writer)

    def _tell(self, change: Change, but: object, *, combined: bool = False) -> None:
        for registered in self._registered:
            if registered.writer == but:
                continue
            held = self._held.get((change.key, registered.writer)) if self._held else None
            if held is None:
                registered.tell(change)
            else:
                held.changes.append(_Later(registered, change, combined))

    def holding(self, key: Key, writer: Hashable) -> AbstractContextManager[None]:
        """While inside, `writer` is not told of changes of `key`; then of those that are not its own."""
        return _Holding(self._held, (key, writer))

    def own(self, key: Key, writer: Hashable, state: int | str) -> None:
        """`writer` made this state (a version, or the uid of what it deleted)."""
        if (held := self._held.get((key, writer))) is not None:
            held.own.add(state)
