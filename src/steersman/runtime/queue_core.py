"""The work queue's rules: which key is worked on next, and when. Pure: `now` is an argument.

Called by `queue` (which adds waiting) and by simulations. Nothing here knows what a key names.

The life of a key; what is not listed leaves the state as it is:

| state             | add                    | its time comes | take       | done       | failed            |
|-------------------|------------------------|----------------|------------|------------|-------------------|
| (unknown)         | waiting or ready       |                |            |            |                   |
| waiting           | merged (see below)     | ready          |            |            |                   |
| ready             | merged                 |                | processing |            |                   |
| processing        | processing + dirty     |                |            | (unknown)  | waiting (backoff) |
| processing, dirty | merged                 |                |            | wait/ready | wait/ready        |

Invariants:
* A key is in the queue at most once and never in the hands of two workers.
* Merging takes the highest priority and the earliest time.
* Higher priority goes first; inside one, first in first out.
* A key's backoff grows when its *retry* fails. A run that something else triggered before the retry was
  due neither lengthens the backoff nor moves the retry.
* Success forgets the failures.
* At most `max_length` keys are known. A new key beyond that is refused (`add` returns False); known keys
  always merge, so nothing that runs or waits is ever lost.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from steersman.aio import DelayQueue
from steersman.runtime.retry import RetryPolicy

__all__ = ["LOW_PRIORITY", "MAX_REASONS", "QueueCore", "Work"]

#: For what can wait: the objects found at start, and resyncs. Fresh events go first.
LOW_PRIORITY = -100
#: Why a key is worked on is told by this many different reasons at most.
MAX_REASONS = 8

K = TypeVar("K", bound=Hashable)


class Work(NamedTuple, Generic[K]):
    """A key handed to a worker, who says `done` or `failed` in the end."""

    key: K
    reasons: tuple[str, ...]
    priority: int
    attempt: int
    """1 for a first try, 2 after one failure, …"""
    waited_s: float
    """How long it was ready before a worker was free."""


class _Entry(Generic[K]):
    """What the queue knows of one key."""

    __slots__ = (
        "failures",
        "key",
        "priority",
        "processing",
        "queued",
        "ready_at",
        "reasons",
        "retry_at",
        "ticket",
        "worked_priority",
    )

    def __init__(self, key: K) -> None:
        self.key = key
        self.queued = False
        self.processing = False
        self.priority = 0
        self.ready_at = 0.0
        self.reasons: list[str] = []
        #: Of the one record in the ready heap that counts; records with others are outdated.
        self.ticket = 0
        self.failures = 0
        self.retry_at = 0.0
        #: The priority it is being worked on with; retries keep it.
        self.worked_priority = 0


class QueueCore(Generic[K]):
    """Keys to work on, each at most once, in order of priority and time."""

    def __init__(
        self,
        retry: RetryPolicy,
        *,
        min_interval_s: float = 0.0,
        debounce_s: float = 0.0,
        max_length: int = 1_000_000,
    ) -> None:
        """`min_interval_s` lies at least between two starts of the same key; `debounce_s` is how long a
        key waits for more to happen before it is worked on at all."""
        if max_length < 1:
            raise ValueError("a queue holds at least one key")
        self._retry = retry
        self._min_interval_s = min_interval_s
        self._debounce_s = debounce_s
        self._max_length = max_length
        self._entries: dict[K, _Entry[K]] = {}
        self._waiting: DelayQueue[K] = DelayQueue()
        self._ready: list[tuple[int, int, _Entry[K]]] = []
        self._tickets = 0
        self._depth = 0
        self._processing: dict[K, float] = {}
        #: When keys were last started, oldest first; kept only where there is a minimal interval.
        self._starts: dict[K, float] = {}
        self.adds = 0
        self.retries = 0
        self.refused = 0

    def __len__(self) -> int:
        """How many keys are known: waiting, ready or in work."""
        return len(self._entries)

    @property
    def depth(self) -> int:
        """How many keys are ready and wait for a worker."""
        return self._depth

    @property
    def processing(self) -> Mapping[K, float]:
        """The keys in work and when each was started, oldest first."""
        return self._processing

    def add(self, key: K, now: float, *, priority: int = 0, after_s: float = 0.0, reason: str = "") -> bool:
        """Have `key` worked on, at the earliest in `after_s` seconds. False if the queue is full."""
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= self._max_length:
                self.refused += 1
                return False
            entry = self._entries[key] = _Entry(key)
        self._enqueue(entry, now, priority, now + (after_s or self._debounce_s), reason)
        return True

    def take(self, now: float) -> Work[K] | None:
        """The next key to work on; None if nothing is ready."""
        if self._waiting:
            for key in self._waiting.pop_due(now):
                self._push_ready(self._entries[key])
        while self._ready:
            _, ticket, entry = heapq.heappop(self._ready)
            if entry.ticket == ticket:
                return self._start(entry, now)
        return None

    def done(self, key: K, now: float, *, again_after_s: float | None = None) -> None:
        """`key` was worked on and its failures are forgotten; worked on again after a while if asked."""
        entry = self._entries[key]
        entry.failures = 0
        entry.retry_at = 0.0
        if again_after_s is not None:
            self._enqueue(entry, now, entry.worked_priority, now + again_after_s, "requeue")
        self._finish(entry, now)

    def failed(self, key: K, now: float) -> float:
        """`key` is to be tried again after its backoff; how long that is from now."""
        entry = self._entries[key]
        if now >= entry.retry_at:
            entry.failures += 1
            entry.retry_at = now + self._retry.wait_s(entry.failures)
        self.retries += 1
        self._enqueue(entry, now, entry.worked_priority, entry.retry_at, "retry")
        self._finish(entry, now)
        return entry.retry_at - now

    def forget(self, key: K) -> None:
        """Let the next failure of `key` be its first."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.failures = 0
            entry.retry_at = 0.0

    def failures(self, key: K) -> int:
        entry = self._entries.get(key)
        return 0 if entry is None else entry.failures

    def next_due(self) -> float | None:
        """When the next waiting key becomes ready."""
        return self._waiting.next_due()

    def _enqueue(self, entry: _Entry[K], now: float, priority: int, ready_at: float, reason: str) -> None:
        if self._min_interval_s and (started := self._starts.get(entry.key)) is not None:
            ready_at = max(ready_at, started + self._min_interval_s)
        if reason and len(entry.reasons) < MAX_REASONS and reason not in entry.reasons:
            entry.reasons.append(reason)
        if not entry.queued:
            self.adds += 1
            entry.queued = True
            entry.priority = priority
            entry.ready_at = ready_at
            if not entry.processing:
                self._place(entry, now)
            return
        sooner, higher = ready_at < entry.ready_at, priority > entry.priority
        if not sooner and not higher:
            return
        entry.ready_at = min(entry.ready_at, ready_at)
        entry.priority = max(entry.priority, priority)
        if entry.processing:
            return
        if entry.ticket == 0:
            self._waiting.discard(entry.key)
            self._place(entry, now)
        elif higher:
            self._depth -= 1
            self._push_ready(entry)

    def _place(self, entry: _Entry[K], now: float) -> None:
        if entry.ready_at > now:
            self._waiting.add(entry.key, entry.ready_at)
        else:
            self._push_ready(entry)

    def _push_ready(self, entry: _Entry[K]) -> None:
        self._tickets = entry.ticket = self._tickets + 1
        self._depth += 1
        heapq.heappush(self._ready, (-entry.priority, entry.ticket, entry))

    def _start(self, entry: _Entry[K], now: float) -> Work[K]:
        self._depth -= 1
        entry.ticket = 0
        entry.queued = False
        entry.processing = True
        entry.worked_priority = entry.priority
        reasons, entry.reasons = tuple(entry.reasons), []
        self._processing[entry.key] = now
        if self._min_interval_s:
            self._remember_start(entry.key, now)
        waited_s = max(0.0, now - entry.ready_at)
        return Work(entry.key, reasons, entry.priority, entry.failures + 1, waited_s)

    def _finish(self, entry: _Entry[K], now: float) -> None:
        del self._processing[entry.key]
        entry.processing = False
        if entry.queued:
            self._place(entry, now)
        else:
            del self._entries[entry.key]

    def _remember_start(self, key: K, now: float) -> None:
        starts = self._starts
        starts.pop(key, None)
        starts[key] = now
        while (oldest := next(iter(starts))) != key and starts[oldest] + self._min_interval_s <= now:
            del starts[oldest]
