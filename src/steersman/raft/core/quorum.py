"""What a majority has agreed on: of one set of voters, or of each of two sets at once (joint consensus).

Pure arithmetic. `halves` is `Configuration.halves`: one set of voters, or two while a joint change is under
way. An empty set has no objections: it wins every vote and commits everything.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

__all__ = ["EVERYTHING", "VoteResult", "agreed", "tally"]

#: What an empty set of voters has committed.
EVERYTHING = sys.maxsize

_N = TypeVar("_N", int, float)


class VoteResult(enum.Enum):
    WON = "won"
    LOST = "lost"
    PENDING = "pending"


def agreed(halves: Iterable[Collection[int]], reached: Mapping[int, _N], nothing: _N) -> _N:
    """The highest value that a majority of every half has reached; who is not in `reached` has `nothing`."""
    lowest: _N | None = None
    for voters in halves:
        if not voters:
            continue
        values = sorted([reached.get(voter, nothing) for voter in voters], reverse=True)
        value = values[len(values) // 2]
        if lowest is None or value < lowest:
            lowest = value
    return EVERYTHING if lowest is None else lowest


def tally(halves: Iterable[Collection[int]], votes: Mapping[int, bool]) -> VoteResult:
    """Won when every half is won, lost as soon as one half cannot be won any more."""
    result = VoteResult.WON
    for voters in halves:
        needed = len(voters) // 2 + 1 if voters else 0
        granted = sum(votes.get(voter) is True for voter in voters)
        refused = sum(votes.get(voter) is False for voter in voters)
        if len(voters) - refused < needed:
            return VoteResult.LOST
        if granted < needed:
            result = VoteResult.PENDING
    return result
