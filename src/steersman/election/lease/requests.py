"""Requests about one Lease and their answers, for `election.lease.core` and `runtime.sharding.core`.

A Lease is changed by compare-and-swap: it is read, and written over the resourceVersion that was read, or
created if there was none. A core has at most one such request under way; an answer carries the number of its
request, and one that was given up meanwhile is ignored. Pure: `exchange` sends the requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

__all__ = [
    "Found",
    "Pending",
    "Read",
    "Refused",
    "Tick",
    "Unanswered",
    "Versioned",
    "Write",
    "Written",
]


class Versioned(Protocol):
    """What is known of a Lease."""

    @property
    def version(self) -> str:
        """Its resourceVersion: any write changes it. Empty if there is no such object yet."""
        ...


L = TypeVar("L", bound=Versioned)


@dataclass(frozen=True, slots=True)
class Read:
    """Ask for the Lease as it is stored."""

    request: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Write(Generic[L]):
    """Store `lease` if the Lease still has the version `lease.version` (none: if it does not exist)."""

    request: int
    timeout_s: float
    lease: L


@dataclass(frozen=True, slots=True)
class Found(Generic[L]):
    """Answer to Read; None if there is no such Lease."""

    request: int
    lease: L | None


@dataclass(frozen=True, slots=True)
class Written(Generic[L]):
    """Answer to Write: the Lease as it is stored now."""

    request: int
    lease: L


@dataclass(frozen=True, slots=True)
class Refused:
    """Answer to Write: the Lease has changed, appeared or gone since it was read."""

    request: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Read or Write had no answer in time, or a useless one; a write may still take effect."""

    request: int


@dataclass(frozen=True, slots=True)
class Tick:
    """The time of the core's `wake_at` has come."""


class Pending:
    """The one request that may be under way."""

    __slots__ = ("number", "sent_at")

    def __init__(self) -> None:
        self.number = 0
        """Of the last request."""
        self.sent_at: float | None = None
        """When the request under way was sent; None if there is none."""

    def begin(self, now: float) -> int:
        """The number of a new request."""
        self.sent_at = now
        self.number += 1
        return self.number

    def end(self, request: int) -> float | None:
        """When the request that is answered was sent; None if it was given up, or is not the last."""
        if request != self.number:
            return None
        sent_at, self.sent_at = self.sent_at, None
        return sent_at

    def give_up(self) -> None:
        self.sent_at = None
