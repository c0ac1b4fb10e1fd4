"""One coarse timer for all connections of a server.

A timer per request would cost more than parsing the request. Instead each connection keeps the time
by which something must have happened, and `Sweeper` looks at all of them a few times a second. It
also keeps the clock reading and the Date header that connections use.

A server that nobody talks to wakes nobody: when no deadline has been set since the last sweep, the next one
is when the first of them passes. Whoever sets a deadline reads `now`, and that has the sweeps go on.
"""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from typing import Protocol

__all__ = ["NEVER", "Sweeper", "Swept"]

NEVER = float("inf")


class Swept(Protocol):
    """Something with a deadline."""

    @property
    def deadline(self) -> float: ...

    def expire(self) -> None:
        """The deadline has passed; set another or end."""
        ...


class Sweeper:
    """Calls `expire` on members whose deadline has passed, late by at most `interval_s`."""

    __slots__ = ("_date", "_interval_s", "_loop", "_now", "_sleeps", "_timer", "_used", "members")

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.members: set[Swept] = set()
        self._now = 0.0
        self._date = b""
        #: Whether the clock was read since the last sweep; while it sleeps, the reading is old.
        self._used = False
        self._sleeps = True

    @property
    def now(self) -> float:
        """The loop's time as of the last sweep."""
        self._used = True
        if self._sleeps:
            self._wake()
        return self._now

    @property
    def date(self) -> bytes:
        """The Date header line as of the last sweep."""
        if self._sleeps:
            self._wake()
        return self._date

    def _wake(self) -> None:
        self.stop()
        self._sleeps = False
        self._read_clock()
        self._timer = self._loop.call_later(self._interval_s, self._tick)

    def _read_clock(self) -> None:
        self._now = self._loop.time()
        self._date = b"Date: %b\r\n" % formatdate(time.time(), usegmt=True).encode()

    def _tick(self) -> None:
        self._timer = None
        self._read_clock()
        used, self._used = self._used, False
        for member in [member for member in self.members if member.deadline <= self._now]:
            member.expire()
        due = self._now + self._interval_s
        self._sleeps = not (used or self._used)
        if self._sleeps:
            due = max(due, min((member.deadline for member in self.members), default=NEVER))
        if due < NEVER and self._timer is None:
            self._timer = self._loop.call_at(due, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
