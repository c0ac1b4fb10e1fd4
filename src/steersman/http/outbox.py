"""Answers that leave together, at the end of the loop's turn in which they were made.

Each write wakes its reader. If that reader is on this machine it takes the processor, or at least the caches,
from the request handled next; so requests that came together are all handled first and then all answered,
which costs a busy server far less. A connection that is alone waits for nobody.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

__all__ = ["Outbox", "Sender"]

#: So many answers do not wait for more of them.
_MOST = 32


class Sender(Protocol):
    """Something that holds back what it has to write."""

    def flush(self) -> None:
        """Write it."""
        ...


class Outbox:
    """The senders of one server that wait for the end of the turn."""

    __slots__ = ("_senders",)

    def __init__(self) -> None:
        self._senders: list[Sender] = []

    def add(self, sender: Sender) -> None:
        senders = self._senders
        if not senders:
            asyncio.get_running_loop().call_soon(self._flush)
        senders.append(sender)
        if len(senders) >= _MOST:
            self._flush()

    def _flush(self) -> None:
        senders, self._senders = self._senders, []
        for sender in senders:
            sender.flush()
