"""Counters of webhook calls, as plain dictionaries until they are scraped."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

__all__ = ["AdmissionWebhookMetrics"]


@dataclass(slots=True)
class AdmissionWebhookMetrics:
    """The counters of webhook calls."""

    #: (webhook, "admit" or "validating", operation, code, rejected) → calls
    requests: Counter[tuple[str, str, str, int, bool]] = field(default_factory=Counter)
    #: (webhook, type) → seconds spent waiting
    seconds: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    #: (webhook, type) → failures that were ignored
    failed_open: Counter[tuple[str, str]] = field(default_factory=Counter)

    def observe(
        self, webhook: str, kind: str, operation: str, code: int, duration_s: float, *, rejected: bool
    ) -> None:
        self.requests[webhook, kind, operation, code, rejected] += 1
        self.seconds[webhook, kind] += duration_s
