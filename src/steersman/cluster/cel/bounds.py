"""Interval arithmetic on sizes and costs: minimum and maximum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["ANY_SIZE", "MOST", "ONE", "ZERO", "Bounds", "exactly"]

#: As large as it gets: kube-apiserver counts in 64 bits and stays there.
MOST: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """A minimum and a maximum."""

    least: int
    most: int

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def __mul__(self, other: Bounds) -> Bounds:
        return Bounds(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def times(self, factor: float) -> Bounds:
        """Multiplied and rounded up."""
        return Bounds(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Bounds) -> Bounds:
        return Bounds(min(self.least, other.least), max(self.most, other.most))


def _scaled(value: int, factor: float) -> int:
    scaled = float(value) * factor
    return MOST if scaled >= float(MOST) else math.ceil(scaled)


def exactly(value: int) -> Bounds:
    return Bounds(min(value, MOST), min(value, MOST))


ZERO: Final = exactly(0)
ONE: Final = exactly(1)
ANY_SIZE: Final = Bounds(0, MOST)
