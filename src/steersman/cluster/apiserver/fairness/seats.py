"""Division of the seats among priority levels, and how many each level may lend and borrow.

Every level gets its share. Part of it (`guaranteed`) is its own at all times; the rest lies in a common pool
from which levels take what they need beyond it, up to `upper`. When the pool is short, levels below their
share come before those that borrow. A lent seat comes back when the request on it ends, at once.

Kubernetes moves seats between levels every ten seconds by smoothed demand; here the pool does it with every
request, which gives the same bounds without the delay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steersman.cluster.apiserver.fairness.configuration import LevelSpec

__all__ = ["WIDEST", "Seats", "divide"]

#: The most seats one request takes.
WIDEST = 10
#: A request takes no more than this part of its level.
_WIDEST_PART = 0.15


@dataclass(frozen=True, slots=True)
class Seats:
    #: The level's share. At least one: a level without shares is slow, not dead.
    nominal: int
    #: What no other level can take.
    guaranteed: int
    #: Everything it may use when others leave it.
    upper: int
    #: The most that one of its requests takes; never more than guaranteed, so that it fits some day.
    widest: int


def divide(total: int, levels: Iterable[LevelSpec]) -> Mapping[str, Seats]:
    """Each level's seats. Rounded up, so their sum may be a little more than the total."""
    levels = list(levels)
    sum_of_shares = sum(level.shares for level in levels) or 1
    return {level.name: _seats(total, sum_of_shares, level) for level in levels}


def _seats(total: int, sum_of_shares: int, level: LevelSpec) -> Seats:
    nominal = math.ceil(total * level.shares / sum_of_shares)
    lendable = _rounded(nominal, level.lendable_percent)
    percent = level.borrowing_percent
    borrowing = total if percent is None else _rounded(nominal, percent)
    guaranteed = max(1, nominal - lendable)
    widest = 1
    if level.queuing is not None:
        widest = min(
            math.ceil(nominal * _WIDEST_PART), nominal // level.queuing.hand_size, WIDEST, guaranteed
        )
    return Seats(max(1, nominal), guaranteed, max(guaranteed, nominal + borrowing), max(1, widest))


def _rounded(seats: int, percent: int) -> int:
    """A percentage of seats, halves up."""
    return math.floor(seats * percent / 100 + 0.5)
