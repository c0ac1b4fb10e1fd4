"""The number of consecutive successes or failures of a probe, against its thresholds. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ResultRun"]


@dataclass(slots=True)
class ResultRun:
    """Consecutive equal results."""

    successes: int = 1
    failures: int = 3
    _last: bool | None = None
    _run: int = 0

    def count(self, *, good: bool) -> bool | None:
        """The verdict after another attempt; None: it is too early to change anything."""
        self._run = self._run + 1 if good is self._last else 1
        self._last = good
        return good if self._run >= (self.successes if good else self.failures) else None
