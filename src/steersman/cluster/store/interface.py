"""The interface of a store: get, range and put with revisions, and watches.

Every committed write gets the next **revision**: one number for the whole store, never reused, never
going back. Values are opaque bytes; the only thing a store does to one is to hand it to `Stamp` once,
together with the revision it was committed at, and to keep the result. (The API server's stamp writes
metadata.resourceVersion at a fixed offset, so what the store keeps is exactly what clients get.)

Reads are synchronous and answer from memory; `sync()` before a read makes it linearizable for engines
whose memory follows a remote store, and is free for the others. A write is acknowledged (its awaitable
returns) and becomes visible to reads and watches only when it is durable, in revision order.

`tests/conformance/store` holds the suite every engine passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

__all__ = ["Contents", "Event", "Range", "Record", "Sink", "Stamp", "Store", "Subscription", "unstamped"]

#: (value as written, revision) → value as kept and served.
Stamp = Callable[[bytes, int], bytes]


def unstamped(value: bytes, revision: int) -> bytes:
    """The stamp that leaves values alone."""
    return value


# Records and events are Structs the garbage collector does not visit: they hold nothing that could
# point back at them, there are tens of thousands of them, and they never die young.
class Record(Struct, frozen=True, gc=False):
    """The current state of one key."""

    key: str
    value: bytes
    #: The revision of the write that made this value.
    revision: int
    #: The revision at which the key came to be (again).
    created: int


class Event(Struct, frozen=True, gc=False):
    """One committed change. A deletion carries the last value, stamped with the deletion's revision."""

    key: str
    revision: int
    value: bytes
    #: The record before, None when the key was created by this event.
    previous: Record | None
    deleted: bool = False


class Range(NamedTuple):
    """A sorted slice of keys at one revision."""

    records: Sequence[Record]
    #: The revision the slice shows.
    revision: int
    #: How many more keys of the range lie behind a limited slice.
    remaining: int


class Contents(NamedTuple):
    """The values of all keys with a prefix, sorted by key. Not the caller's to change."""

    values: Sequence[bytes]
    #: Of all of them together, in bytes.
    size: int
    #: The revision they show.
    revision: int


#: Called on the loop, once per commit, with the events of the subscribed prefix, in revision order.
#: Must not block; an exception ends the subscription, not the store.
Sink = Callable[[Sequence[Event]], None]


class Subscription(Protocol):
    """A watch; `cancel` ends it."""

    def cancel(self) -> None:
        """No sink call happens after this returns. Idempotent."""


class Store(Protocol):
    """A store of bytes by key, with revisions."""

    @property
    def revision(self) -> int:
        """The newest revision visible to reads. All its events have been handed to the sinks."""

    @property
    def compacted(self) -> int:
        """The newest revision forgotten: reads at, and watches since, anything below raise Compacted."""

    async def sync(self) -> None:
        """Return when reads see at least every write acknowledged (to anyone) before the call."""

    def get(self, key: str) -> Record | None: ...

    def range(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Range:
        """Keys starting with `prefix`, greater than `after`, sorted; at most `limit` (0: all), as they
        were at `revision` (0: now). Raises Compacted or FutureRevision."""

    def contents(self, prefix: str) -> Contents:
        """The values of a whole range as it is now; kept until one of its table is written, since many list
        the same."""

    def count(self, prefix: str) -> int: ...

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        """Write. `expected` is the revision the key must be at (0: must not exist); None: whatever.
        Raises Conflict (with the current record), Unavailable (nothing was written)."""

    async def delete(self, key: str, *, expected: int | None = None) -> Event:
        """Remove a key; the event carries its last value. Raises NotFound, Conflict, Unavailable."""

    def watch(self, prefix: str, since: int, sink: Sink) -> Subscription:
        """Call `sink` with every event after revision `since` (the backlog before this returns, in
        one call), for keys starting with `prefix`. Raises Compacted or FutureRevision."""

    async def compact(self, revision: int) -> None:
        """Forget history up to and including `revision`. Raises FutureRevision, Unavailable."""

    async def close(self) -> None:
        """Finish what was submitted, refuse the rest, release the data folder."""
