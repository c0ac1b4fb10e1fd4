"""One coarse timer for all connections of a server.

A timer per request would cost more than parsing the request. Instead each connection keeps the time
by which something must have happened, and `Sweeper` looks at all of them a few times a second. It
also keeps the clock reading and the Date header that connections use.
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

    __slots__ = ("_interval_s", "_loop", "_timer", "date", "members", "now")

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.members: set[Swept] = set()
        self.now = 0.0
        """The loop's time as of the last sweep."""
        self.date = b""
        """The Date header line as of the last sweep."""
        self._tick()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._interval_s, self._tick)
        self.now = now = self._loop.time()
        self.date = b"Date: %b\r\n" % formatdate(time.time(), usegmt=True).encode()
        for member in [member for member in self.members if member.deadline <= now]:
            member.expire()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
