"""Linearizable reads without a log entry (ReadIndex; Raft thesis, section 6.4).

A read may see the commit index as of a round of heartbeats that started after the read arrived, once a
quorum has answered that round: nobody else can have committed anything before the read began.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

__all__ = ["PendingRead", "Reads"]


@dataclass(frozen=True, slots=True)
class PendingRead:
    #: The member that asked.
    requester: int
    #: Its own number for the read.
    context: int


class Reads:
    """Reads of one leadership. They die with it; who asked notices the new term and asks again."""

    __slots__ = ("_confirming", "waiting")

    def __init__(self) -> None:
        #: For the next round.
        self.waiting: list[PendingRead] = []
        #: Round, commit index and reads; rounds and indices rise.
        self._confirming: deque[tuple[int, int, list[PendingRead]]] = deque()

    def bind(self, round_: int, index: int) -> None:
        """A round has started that will confirm all that wait."""
        self._confirming.append((round_, index, self.waiting))
        self.waiting = []

    @property
    def confirming(self) -> bool:
        return bool(self._confirming)

    def confirmed(self, round_: int) -> list[tuple[PendingRead, int]]:
        """The reads, each with its index, of all rounds up to one that a quorum answered."""
        done = []
        while self._confirming and self._confirming[0][0] <= round_:
            _, index, reads = self._confirming.popleft()
            done += [(read, index) for read in reads]
        return done
