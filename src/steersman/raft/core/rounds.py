"""A leader's rounds of heartbeats and what their answers prove.

A round is started, and messages sent from then on carry its number. A voter that answers it heard of this
leader after the start and refuses other candidates for `election_min_s` from then on; hence, when a quorum
has answered a round, nobody else can be elected until `election_min_s` after its *start*. The lease is that
with a margin for clocks that run at different rates.
"""

from __future__ import annotations

from collections import deque

__all__ = ["Rounds"]


class Rounds:
    __slots__ = ("_keep_s", "_starts", "current")

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        #: Number of the newest round. 0 before the first; a leader's rounds have nothing to do with
        #: another's, answers are told apart by their term.
        self.current = 0
        #: When the rounds up to `current` were started, the oldest first; without those whose answers
        #: could not prolong a lease any more.
        self._starts: deque[float] = deque()

    def start(self, now: float) -> None:
        self.current += 1
        self._starts.append(now)
        while self._starts[0] < now - self._keep_s:
            self._starts.popleft()

    def started_at(self, round_: int) -> float | None:
        """None if that is too long ago, or never was."""
        position = round_ - self.current + len(self._starts) - 1
        return self._starts[position] if 0 <= position < len(self._starts) else None
