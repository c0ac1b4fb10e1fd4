"""How long a key waits after its reconcile failed. Pure; used by the queue's core.

RetryPolicy.exponential(1, 300)   1, 2, 4, … 300 s      the default
RetryPolicy.flat(60)              60, 60, 60, …
RetryPolicy.client_go()           5, 10, 20 ms … 1000 s
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RetryPolicy"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits that grow by `factor` from `first_s` to `ceiling_s`; without jitter, so that they can be read
    off a log. Keys that fail together are spread by the controller's concurrency."""

    first_s: float = 1.0
    ceiling_s: float = 300.0
    factor: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.first_s <= self.ceiling_s:
            raise ValueError("a retry policy needs 0 < first_s <= ceiling_s")
        if self.factor < 1:
            raise ValueError("a retry policy needs factor >= 1")

    @classmethod
    def exponential(cls, first_s: float = 1.0, ceiling_s: float = 300.0) -> RetryPolicy:
        return cls(first_s, ceiling_s)

    @classmethod
    def flat(cls, wait_s: float) -> RetryPolicy:
        return cls(wait_s, wait_s, 1.0)

    @classmethod
    def client_go(cls) -> RetryPolicy:
        return cls(0.005, 1000.0)

    def wait_s(self, failures: int) -> float:
        """The wait after `failures` (1, 2, …) failures in a row."""
        try:
            return min(self.first_s * self.factor ** (failures - 1), self.ceiling_s)
        except OverflowError:
            return self.ceiling_s
