"""Sets of completion indexes of an Indexed Job, written as in its status: `0,2-5,7`. Pure values."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["NO_INDEXES", "Indexes"]

_integer = re.compile("[+-]?[0-9]+").fullmatch


class Indexes:
    """A set of integers as ordered, disjoint intervals."""

    __slots__ = ("_ends", "intervals")

    def __init__(self, intervals: Iterable[tuple[int, int]] = ()) -> None:
        """Intervals are (first, last), in order of their first."""
        merged: list[tuple[int, int]] = []
        for first, last in intervals:
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(last, merged[-1][1])
            else:
                merged.append((first, last))
        self.intervals = tuple(merged)
        self._ends = [last for _, last in merged]

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Indexes:
        return cls((number, number) for number in sorted(numbers))

    @classmethod
    def parse(cls, text: str, completions: int) -> Indexes:
        """What a status holds, as far as it makes sense and is below `completions`."""
        intervals = []
        for part in text.split(",") if text else ():
            first, dash, last = part.partition("-")
            if not _integer(first) or (dash and not _integer(last)):
                continue
            if int(first) >= completions:
                break
            intervals.append((int(first), min(int(last), completions - 1) if dash else int(first)))
        return cls(intervals)

    def __or__(self, other: Indexes) -> Indexes:
        return Indexes(sorted(self.intervals + other.intervals))

    def __and__(self, other: Indexes) -> int:
        """How many indexes are in both."""
        count, left, right = 0, iter(self.intervals), iter(other.intervals)
        one, two = next(left, None), next(right, None)
        while one is not None and two is not None:
            count += max(0, min(one[1], two[1]) - max(one[0], two[0]) + 1)
            if one[1] < two[1]:
                one = next(left, None)
            else:
                two = next(right, None)
        return count

    def __contains__(self, number: int) -> bool:
        at = bisect_left(self._ends, number)
        return at < len(self._ends) and self.intervals[at][0] <= number

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and self.intervals == other.intervals

    def __hash__(self) -> int:
        return hash(self.intervals)

    def missing(self, below: int) -> Iterator[int]:
        """The numbers that are not here, in order."""
        candidate = 0
        for first, last in self.intervals:
            yield from range(candidate, min(first, below))
            candidate = max(candidate, last + 1)
        yield from range(candidate, below)

    def __str__(self) -> str:
        return ",".join(map(_spelled, self.intervals))

    def __repr__(self) -> str:
        return f"Indexes({self})"


def _spelled(interval: tuple[int, int]) -> str:
    first, last = interval
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


NO_INDEXES: Final = Indexes()
