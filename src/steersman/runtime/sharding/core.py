"""The rules of sharing objects among members. Pure: time, answers and what is seen are arguments.

Called by `shard`, which sends the requests, and by the simulation in tests/sim. Every member has a Lease of
its own, which carries its *claim*: a set of members, itself among them, and a number that grows with every
claim. A claim covers the objects that its member owns if these are all members (see `views`).

A member works on an object only if
1. its claim, as its cache shows its own Lease, covers the object, and so does every later claim it has sent;
2. no other Lease in that same cache carries a claim that covers it;
3. it has renewed its Lease in time, by its own clock.

Why never two: each writes its claim before it looks at the others', and looks at a state of the API that has
its own claim in it. Of two members with claims on one object, the one whose claim came later sees the
other's. It holds as long as a claim stays where it is while somebody works by it, therefore
* a claim is replaced only when all work outside of the new one has ended (`Drain`, then `Drained`);
* a claim is taken away by others, and then its Lease, only if it did not change for `duration_s`, and by the
  very version they saw; its member has stopped by then, as it counts the shorter `renew_deadline_s`;
* whoever did not renew in time ends all work, claims nothing, and claims again only when its cache shows
  that later, empty claim: what it sees then includes what others took meanwhile;
* a Lease that vanished with a claim (somebody deleted it) counts for `duration_s` after its last change.

Why somebody: all members come to see the same Leases, claim the same set of members, and then exactly one
of the claims covers an object. A member that does not see its own renewals any more stops renewing, so that
those who see more take over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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
from steersman.runtime.sharding.views import Members, View

__all__ = [
    "Command",
    "Drain",
    "Drained",
    "Event",
    "Leave",
    "Record",
    "Remove",
    "Seen",
    "ShardCore",
    "ShardSettings",
    "Stop",
]

NOBODY: Members = frozenset()


@dataclass(frozen=True, slots=True)
class ShardSettings:
    """Shorter than those of leader election: the objects of a member that died are alone until then."""

    duration_s: float = 6.0
    """How long others leave a member's objects alone when it does not renew."""
    renew_deadline_s: float = 4.0
    """How long a member works on without having renewed."""
    retry_period_s: float = 1.0
    """Between two renewals."""
    handover_s: float = 2.0
    """How long running work may take to end before its object moves; then it is cancelled."""

    def __post_init__(self) -> None:
        if not self.duration_s > self.renew_deadline_s > self.retry_period_s > 0 or self.handover_s < 0:
            raise ValueError(
                "sharding needs duration_s > renew_deadline_s > retry_period_s > 0 and handover_s >= 0, not "
                f"{self.duration_s:g}, {self.renew_deadline_s:g}, {self.retry_period_s:g}, "
                f"{self.handover_s:g}"
            )

    @property
    def request_timeout_s(self) -> float:
        return self.renew_deadline_s / 2


@dataclass(frozen=True, slots=True)
class Record:
    """What matters of a member's Lease."""

    member: str
    claim: Members
    generation: int
    """The claim's number."""
    version: str = ""
    """Its resourceVersion: any write changes it. Empty if there is no such object yet."""
    object: Any = field(default=None, compare=False, repr=False)
    """The object it was read from, for the fields that are not ours."""


@dataclass(frozen=True, slots=True)
class Seen:
    """All Leases of the group as the cache has them: one state of the API, not mixed with our own writes."""

    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Drained:
    """All work outside of the claim of this number has ended."""

    generation: int


@dataclass(frozen=True, slots=True)
class Leave:
    """This member has ended its work and wants to go."""


Answer = Found[Record] | Written[Record] | Refused | Unanswered
Event = Tick | Seen | Answer | Drained | Leave


@dataclass(frozen=True, slots=True)
class Remove:
    """If another member's Lease still has this version, empty its claim, then delete it. Whatever the answer
    is, it will be seen."""

    member: str
    version: str


@dataclass(frozen=True, slots=True)
class Drain:
    """End all work outside of `claim`, at once if there is no time left, and report `Drained`.

    A later Drain takes the place of an earlier one."""

    generation: int
    claim: Members
    at_once: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing is claimed any more, or it will expire by itself."""


Command = Read | Write[Record] | Remove | Drain | Stop


@dataclass(slots=True)
class _Claim:
    generation: int
    members: Members
    drained: bool = False
    sent: bool = False


@dataclass(slots=True)
class _Other:
    record: Record
    #: When this version of it was first seen.
    since: float
    gone: bool = False
    #: Not to be removed again before this.
    patience_until: float = 0.0


class ShardCore:
    """One member. Between steps, whoever drives it sends a Tick when `wake_at` has come."""

    def __init__(self, member: str, settings: ShardSettings) -> None:
        """No member ever has the same name again."""
        self.member = member
        self.view = View(member)
        """What may be worked on while `valid`."""
        self.stopped = False
        self._settings = settings
        self._others: dict[str, _Other] = {}
        #: Our own Lease as the cache shows it, and as the API last told it to us.
        self._shown: Record | None = None
        self._stored: Record | None = None
        #: What we have claimed or are about to, oldest first: from the claim shown on.
        self._claims = [_Claim(1, NOBODY, drained=True)]
        #: Claims with lower numbers are from before we failed to renew.
        self._floor = 1
        self._leaving = False
        self._pending = Pending()
        #: Whether the Lease may be other than `_stored`.
        self._unsure = False
        self._next_at = 0.0
        #: None before the first write, and while the work of a time that is over still ends.
        self._valid_until: float | None = None
        self._has_lapsed = False
        #: Versions written and not yet shown, with when they were sent.
        self._unechoed: deque[tuple[str, float]] = deque()

    def valid(self, now: float) -> bool:
        """Whether this member may work at all."""
        return self._valid_until is not None and now < self._valid_until

    @property
    def members(self) -> Members:
        """All that share the objects, as far as is known here."""
        others = frozenset(
            name for name, other in self._others.items() if other.record.claim and not other.gone
        )
        return others | {self.member} if self._claims[-1].members else others

    @property
    def wake_at(self) -> float | None:
        """When to send a Tick."""
        if self.stopped:
            return None
        duration_s = self._settings.duration_s
        times = [max(other.since + duration_s, other.patience_until) for other in self._others.values()]
        if self._valid_until is not None:
            times.append(self._valid_until)
        if self._pending.sent_at is None and not self._has_lapsed:
            times.append(self._next_at)
        return min(times, default=None)

    def step(self, event: Event, now: float) -> list[Command]:
        """What to do about `event`."""
        if self.stopped:
            return []
        commands: list[Command] = []
        if self._valid_until is not None and now >= self._valid_until:
            # Whatever this event brings comes too late for the claims of before.
            commands += self._lapse()
        match event:
            case Seen(records):
                commands += self._see(records, now)
            case Drained(generation):
                self._drained(generation, now)
            case Leave():
                self._leaving = True
            case Found() | Written() | Refused() | Unanswered():
                commands += self._answer(event, now)
            case Tick():
                pass
        commands += self._remove_expired(now)
        commands += self._plan(now)
        self.view = self._current_view()
        return commands

    # what is seen

    def _see(self, records: Iterable[Record], now: float) -> list[Command]:
        seen = {record.member: record for record in records}
        own = seen.pop(self.member, None)
        if own is not None and self._shown is not None and own.generation < self._shown.generation:
            return []  # an older state than the last: what we claimed since then is not in it
        for name, record in seen.items():
            other = self._others.get(name)
            if other is None or other.record.version != record.version:
                self._others[name] = _Other(record, now)
            else:
                other.gone = False
        for name, other in list(self._others.items()):
            if name not in seen:
                other.gone = True
                if not other.record.claim:
                    del self._others[name]
        was_member, self._shown = self._is_shown(), own
        if own is None or self._is_taken(own):
            # Others think that we are gone.
            return self._lapse() if was_member else []
        self._claims = [
            claim for claim in self._claims if claim.generation >= own.generation or claim is self._claims[-1]
        ]
        if any(version == own.version for version, _ in self._unechoed):
            while self._unechoed.popleft()[0] != own.version:
                pass
        return []

    def _is_taken(self, own: Record) -> bool:
        """Whether somebody else has emptied our claim."""
        written = (claim.members for claim in self._claims if claim.generation == own.generation)
        return not own.claim and any(written)

    def _is_shown(self) -> bool:
        return self._shown is not None and self._shown.generation >= self._floor

    def _remove_expired(self, now: float) -> list[Command]:
        commands: list[Command] = []
        for name, other in list(self._others.items()):
            if now < max(other.since + self._settings.duration_s, other.patience_until):
                continue
            if other.gone:
                del self._others[name]
            else:
                other.patience_until = now + self._settings.retry_period_s
                commands.append(Remove(name, other.record.version))
        return commands

    def _current_view(self) -> View:
        shown = self._shown
        if shown is None or not self._is_shown() or self._has_lapsed:
            return View(self.member)
        later = (claim.members for claim in self._claims if claim.generation >= shown.generation)
        own = tuple(dict.fromkeys((shown.claim, *later)))
        rivals = (
            (name, other.record.claim)
            for name, other in sorted(self._others.items())
            if other.record.claim and other.record.claim not in own
        )
        return View(self.member, own, tuple(rivals))

    # what is claimed

    def _lapse(self) -> list[Command]:
        """The claims of before count no more: end everything, then begin anew with an empty one."""
        self._valid_until = None
        self._has_lapsed = True
        self._pending.give_up()
        self._unsure = True
        self._unechoed.clear()
        self._floor = self._claims[-1].generation + 1
        self._claims = [_Claim(self._floor, NOBODY)]
        return [Drain(self._floor, NOBODY, at_once=True)]

    def _drained(self, generation: int, now: float) -> None:
        last = self._claims[-1]
        if last.generation != generation:
            return
        last.drained = True
        if self._has_lapsed:
            self._has_lapsed = False
            self._next_at = now

    def _target(self) -> Members:
        if self._leaving or not self._is_shown():
            return NOBODY
        claiming = (name for name, other in self._others.items() if other.record.claim and not other.gone)
        return frozenset((self.member, *claiming))

    def _plan(self, now: float) -> list[Command]:
        if self._has_lapsed:
            return self._stop() if self._leaving else []
        commands: list[Command] = []
        last, target = self._claims[-1], self._target()
        if last.members != target:
            if not last.sent:
                self._claims.pop()
            last = _Claim(last.generation + 1, target)
            self._claims.append(last)
            commands.append(Drain(last.generation, target, at_once=self._leaving))
        if self._leaving and (self._valid_until is None or self._is_free()):
            return [*commands, *self._stop()]
        has_news = last.drained and not last.sent and not self._unsure
        if self._pending.sent_at is None and (has_news or now >= self._next_at):
            commands += self._write(now)
        return commands

    def _is_free(self) -> bool:
        """Whether the API has our last, empty claim."""
        last = self._claims[-1]
        return not last.members and self._stored is not None and self._stored.generation == last.generation

    def _stop(self) -> list[Command]:
        self.stopped = True
        self._valid_until = None
        return [Stop()]

    # requests

    def _write(self, now: float) -> list[Command]:
        if self._unsure:
            return [Read(self._pending.begin(now), self._patience_s(now))]
        claim = next(claim for claim in reversed(self._claims) if claim.drained)
        late_s = now - self._unechoed[0][1] if self._unechoed else 0.0
        if claim.members and late_s > self._settings.renew_deadline_s:
            # The watch is behind: those who see more shall have our objects.
            self._next_at = now + self._settings.retry_period_s
            return []
        claim.sent = True
        stored = self._stored
        version, base = (stored.version, stored.object) if stored is not None else ("", None)
        record = Record(self.member, claim.members, claim.generation, version, base)
        return [Write(self._pending.begin(now), self._patience_s(now), record)]

    def _patience_s(self, now: float) -> float:
        limit_s = self._settings.request_timeout_s
        return limit_s if self._valid_until is None else min(limit_s, self._valid_until - now)

    def _answer(self, answer: Answer, now: float) -> list[Command]:
        sent_at = self._pending.end(answer.request)
        if sent_at is None:
            return []
        self._next_at = now + self._settings.retry_period_s
        match answer:
            case Written(_, record):
                self._stored = record
                self._unechoed.append((record.version, sent_at))
                self._valid_until = sent_at + self._settings.renew_deadline_s
                if now >= self._valid_until:
                    return self._lapse()
            case Found(_, record):
                self._unsure = False
                self._next_at = now
                was_stored, self._stored = self._stored is not None, record
                is_taken = was_stored if record is None else self._is_taken(record)
                if is_taken and self._valid_until is not None:
                    return self._lapse()
            case Refused():
                self._unsure = True
                self._next_at = now
            case Unanswered():
                self._unsure = True
        return []
