"""The rules of leading by a Lease object. Pure: time, randomness and answers are arguments.

Called by `lease.engine`, which sends the requests, and by the simulation in tests/sim. One request is
under way at a time; `step` takes what happened and says what to do. Answers carry the number of their
request; one that was given up meanwhile is ignored.

| state     | event                        | next      | commands                                      |
|-----------|------------------------------|-----------|-----------------------------------------------|
| following | Tick                         |           | Read                                          |
|           | Found: free or expired       |           | Write (acquire)                               |
|           | Found: held                  |           | – (read again in 2–4.4 s, or when it expires) |
|           | `hurry`                      |           | – (read now, and every 0.2 s for 2 s)         |
|           | Written                      | leading   | Elect                                         |
|           | Refused, Unanswered          |           | – (read again)                                |
| leading   | Tick                         |           | Write (renew); Read if that failed last time  |
|           | Written                      |           | – (renew again in 2 s)                        |
|           | Refused                      |           | Read; the second time – (again in 2 s)        |
|           | Found: still ours, or gone   |           | Write (renew, or create)                      |
|           | Found: another's             | lost      | Lose                                          |
|           | Unanswered                   |           | – (again in 2 s)                              |
|           | not renewed for 10 s         | lost      | Lose                                          |
|           | WorkEnded                    | releasing | Write (release), once no renewal is under way |
| lost      | WorkEnded                    | following | –                                             |
| releasing | Refused                      |           | Read, and Write (release) if still ours       |
|           | Written, Unanswered          | released  | Stop                                          |

Safety rests on durations alone, each measured on the clock of one process:
* A leader counts its 10 s from when it *sent* the renewal that succeeded; a follower counts the lease's
  15 s from when it *received* the last change it saw. The follower's count starts after the leader's, so
  clocks may drift apart by half before two processes lead at once. Wall clocks only fill in the fields
  that people read.
* Every write names the resourceVersion it is based on, so the API server lets one contender through.
* A lease that carries our identity is ours only if it has the acquireTime we wrote: two processes that
  were given one identity still exclude each other.
* Every election adds one to leaseTransitions, which is the term.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from steersman.election.errors import ElectionConfigError
from steersman.election.lease.requests import (
    Found,
    Pending,
    Read,
    Refused,
    Tick,
    Unanswered,
    Write,
    Written,
)

__all__ = [
    "Command",
    "Elect",
    "Event",
    "Lease",
    "LeaseCore",
    "LeaseSettings",
    "Lose",
    "State",
    "Stop",
    "WorkEnded",
]


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """The usual numbers of Kubernetes' own components."""

    duration_s: float = 15.0
    """How long followers leave a lease alone that is not renewed."""
    renew_deadline_s: float = 10.0
    """How long a leader leads on without having renewed."""
    retry_period_s: float = 2.0
    """Between two renewals; followers wait up to `jitter` times as long on top of it."""
    jitter: float = 1.2

    def __post_init__(self) -> None:
        if not self.duration_s > self.renew_deadline_s > self.retry_period_s * self.jitter > 0:
            raise ElectionConfigError(
                "a lease needs duration_s > renew_deadline_s > retry_period_s * jitter > 0, not "
                f"{self.duration_s:g}, {self.renew_deadline_s:g}, {self.retry_period_s:g} * {self.jitter:g}"
            )

    @property
    def request_timeout_s(self) -> float:
        """Two requests that hang fit into the time a leader has to renew."""
        return self.renew_deadline_s / 2


@dataclass(frozen=True, slots=True)
class Lease:
    """What matters of a Lease. Times of the wall clock are opaque texts here."""

    holder: str = ""
    duration_s: float = 0.0
    transitions: int = 0
    acquired: str = ""
    renewed: str = ""
    version: str = ""
    """Its resourceVersion: any write changes it. Empty if there is no such object yet."""
    object: Any = field(default=None, compare=False, repr=False)
    """The object it was read from, for the fields that are not ours."""


@dataclass(frozen=True, slots=True)
class WorkEnded:
    """What the leader did, or still did after losing, has ended."""


#: How much sooner than usual somebody looks who was told to hurry.
_HURRY = 0.1

Answer = Found[Lease] | Written[Lease] | Refused | Unanswered
Event = Tick | Answer | WorkEnded


@dataclass(frozen=True, slots=True)
class Elect:
    term: int


@dataclass(frozen=True, slots=True)
class Lose:
    why: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The lock is given up, or will expire by itself. Nothing more to do."""


Command = Read | Write[Lease] | Elect | Lose | Stop


class State(Enum):
    FOLLOWING = "following"
    LEADING = "leading"
    LOST = "lost"
    RELEASING = "releasing"
    RELEASED = "released"


class LeaseCore:
    """One contender. Between steps, whoever drives it sends a Tick when `wake_at` has come."""

    def __init__(self, identity: str, settings: LeaseSettings, rand: Callable[[], float]) -> None:
        """`rand` yields [0, 1)."""
        self.identity = identity
        self.state = State.FOLLOWING
        self.term = 0
        """The highest term seen; while leading, that of this leadership."""
        self._settings = settings
        self._rand = rand
        #: The lease as last seen, and since when it has been seen unchanged.
        self._observed: Lease | None = None
        self._observed_at = 0.0
        #: acquireTimes this process has written: a lease with one of them is ours.
        self._acquired: deque[str] = deque(maxlen=16)
        self._pending = Pending()
        self._next_at = 0.0
        self._hurried_until = -math.inf
        #: Until when this process leads, unless it renews.
        self._leads_until = 0.0
        #: Whether the last renewal failed, so that the lease may be other than we know it.
        self._unsure = False
        self._wall = ""

    def leads(self, now: float) -> bool:
        return self.state is State.LEADING and now < self._leads_until

    def leads_for_s(self, now: float) -> float:
        return self._leads_until - now if self.leads(now) else 0.0

    @property
    def holder(self) -> str:
        """Who was last seen to hold the lease."""
        return self._observed.holder if self._observed is not None else ""

    @property
    def wake_at(self) -> float | None:
        """When to send a Tick; None if only an answer or the work's end can change anything."""
        idle = self._pending.sent_at is None
        if self.state is State.LEADING:
            return min(self._next_at, self._leads_until) if idle else self._leads_until
        return self._next_at if idle and self.state is State.FOLLOWING else None

    def hurry(self, now: float) -> None:
        """The lease may be free any moment: a follower looks now, and often for a while."""
        if self.state is State.FOLLOWING and now >= self._hurried_until:
            self._next_at = now
        self._hurried_until = now + self._settings.retry_period_s

    def step(self, event: Event, now: float, wall: str = "") -> list[Command]:
        """What to do about `event`. `wall` is the time that people would say it is."""
        self._wall = wall
        if isinstance(event, WorkEnded):
            return self._work_ended(now)
        if self.state is State.LEADING and now >= self._leads_until:
            # Whatever this event brings comes too late.
            return self._lose("the lease could not be renewed in time")
        if isinstance(event, Tick):
            return self._tick(now)
        sent_at = self._pending.end(event.request)
        if sent_at is None:
            return []
        match self.state:
            case State.FOLLOWING:
                return self._answer_to_follower(event, now, sent_at)
            case State.LEADING:
                return self._answer_to_leader(event, now, sent_at)
            case State.RELEASING:
                return self._answer_to_releasing(event, now)
        return []

    def _tick(self, now: float) -> list[Command]:
        if self._pending.sent_at is not None or now < self._next_at:
            return []
        if self.state is State.LEADING and not self._unsure:
            return self._renew(now)
        return self._read(now) if self.state in (State.FOLLOWING, State.LEADING) else []

    def _answer_to_follower(self, answer: Answer, now: float, sent_at: float) -> list[Command]:
        match answer:
            case Found(_, lease):
                self._observe(lease, now)
                if self._is_free(lease, now):
                    return self._acquire(lease, now)
            case Written(_, lease):
                self._observe(lease, now)
                leads_until = sent_at + self._settings.renew_deadline_s
                if now < leads_until:
                    self.state = State.LEADING
                    self._unsure = False
                    self._leads_until = leads_until
                    self._next_at = now + self._settings.retry_period_s
                    return [Elect(self.term)]
        self._retry_later(now)
        return []

    def _answer_to_leader(self, answer: Answer, now: float, sent_at: float) -> list[Command]:
        match answer:
            case Found(_, lease):
                self._observe(lease, now)
                if lease is None or self._is_ours(lease):
                    return self._renew(now, exists=lease is not None)
                return self._lose(f"the lease is held by {lease.holder or 'no process'}")
            case Written(_, lease):
                self._observe(lease, now)
                self._leads_until = sent_at + self._settings.renew_deadline_s
                self._unsure = False
            case Refused() if not self._unsure:
                self._unsure = True
                return self._read(now)
            case Refused() | Unanswered():
                self._unsure = True
        self._next_at = now + self._settings.retry_period_s
        return []

    def _answer_to_releasing(self, answer: Answer, now: float) -> list[Command]:
        match answer:
            case Found(_, lease):
                self._observe(lease, now)
                if lease is not None and self._is_ours(lease):
                    return self._release(now)
            case Written(_, lease):
                self._observe(lease, now)
                if lease.holder:  # a renewal that was under way when the work ended
                    return self._release(now)
            case Refused() if now < self._leads_until:
                return self._read(now)
        return self._stop()

    def _work_ended(self, now: float) -> list[Command]:
        if self.state is State.LOST:
            self.state = State.FOLLOWING
            self._retry_later(now)
            return []
        if not self.leads(now):
            return self._stop()
        self.state = State.RELEASING
        return self._release(now) if self._pending.sent_at is None else []

    def _is_free(self, lease: Lease | None, now: float) -> bool:
        known = self._observed
        if known is None or not known.holder or (lease is not None and self._is_ours(lease)):
            return True
        # Also a lease that was deleted is waited for: its leader may not know yet.
        return now >= self._free_at()

    def _free_at(self) -> float:
        """When the lease as last seen is over, if it is not renewed."""
        known = self._observed
        if known is None or not known.holder:
            return self._observed_at
        return self._observed_at + (known.duration_s or self._settings.duration_s)

    def _is_ours(self, lease: Lease) -> bool:
        return lease.holder == self.identity and lease.acquired in self._acquired

    def _observe(self, lease: Lease | None, now: float) -> None:
        if lease is None:
            return
        if self._observed is None or self._observed.version != lease.version:
            self._observed_at = now
        self._observed = lease
        self.term = max(self.term, lease.transitions)

    def _acquire(self, lease: Lease | None, now: float) -> list[Command]:
        self._acquired.append(self._wall)
        wanted = Lease(
            holder=self.identity,
            duration_s=math.ceil(self._settings.duration_s),
            transitions=self.term + 1,
            acquired=self._wall,
            renewed=self._wall,
            version=lease.version if lease is not None else "",
            object=lease.object if lease is not None else None,
        )
        return self._write(wanted, now)

    def _renew(self, now: float, *, exists: bool = True) -> list[Command]:
        held = self._observed
        assert held is not None, "a leader has seen its lease"
        if not exists:
            held = replace(held, version="", object=None)
        return self._write(replace(held, renewed=self._wall), now)

    def _release(self, now: float) -> list[Command]:
        held = self._observed
        assert held is not None, "a leader has seen its lease"
        # A lease of no length is refused by the API; without a holder nobody waits for its end.
        return self._write(
            replace(held, holder="", duration_s=1, acquired=self._wall, renewed=self._wall), now
        )

    def _read(self, now: float) -> list[Command]:
        return [Read(self._pending.begin(now), self._patience_s(now))]

    def _write(self, lease: Lease, now: float) -> list[Command]:
        return [Write(self._pending.begin(now), self._patience_s(now), lease)]

    def _patience_s(self, now: float) -> float:
        limit_s = self._settings.request_timeout_s
        return min(limit_s, self._leads_until - now) if self.state is State.LEADING else limit_s

    def _retry_later(self, now: float) -> None:
        pause_s = self._settings.retry_period_s * (1.0 + self._settings.jitter * self._rand())
        if now < self._hurried_until:
            pause_s = self._settings.retry_period_s * _HURRY
        self._next_at = now + pause_s
        free_at = self._free_at()
        if now < free_at:
            # What expires earlier is looked at when it has, but not by everybody at the same instant.
            self._next_at = min(self._next_at, free_at + 0.1 * pause_s)

    def _lose(self, why: str) -> list[Command]:
        self.state = State.LOST
        self._pending.give_up()
        return [Lose(why)]

    def _stop(self) -> list[Command]:
        self.state = State.RELEASED
        self._pending.give_up()
        return [Stop()]
