"""Growing, jittered waits between attempts at something that fails.

Pure: it computes waits, it never sleeps. The caller owns the clock and the attempts.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential growth from `first_s` to `ceiling_s`, each wait spread by `jitter`.

    `jitter` 0.2 means a wait is between 80 % and 120 % of its nominal length (never above the
    ceiling), so that clients that failed together do not come back together.
    """

    first_s: float = 0.1
    ceiling_s: float = 30.0
    factor: float = 2.0
    jitter: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.first_s <= self.ceiling_s:
            raise ValueError("backoff needs 0 < first_s <= ceiling_s")
        if self.factor < 1:
            raise ValueError("backoff needs factor >= 1")
        if not 0 <= self.jitter < 1:
            raise ValueError("backoff needs 0 <= jitter < 1")

    def wait_s(self, failures: int, rand: Callable[[], float] = random.random) -> float:
        """How long to wait after `failures` (1, 2, …) failures in a row; `rand` yields [0, 1)."""
        nominal = self.first_s
        for _ in range(failures - 1):
            nominal *= self.factor
            # Stopping at the ceiling also keeps a large count from overflowing the float.
            if nominal >= self.ceiling_s:
                break
        spread = 1.0 - self.jitter + 2.0 * self.jitter * rand()
        return min(nominal * spread, self.ceiling_s)
