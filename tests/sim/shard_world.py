"""A world for members that share objects: one API server, watches that lag, clocks that drift, requests that
get lost, processes that hang, crash, leave and come. One seed decides everything.

Time is simulated; the members are the real `ShardCore`, driven as `Shard` drives it. Each starts work on what
it owns, all the time; work takes its time to end, also when it is told to.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from steersman.election.lease.requests import Found, Read, Refused, Tick, Unanswered, Write, Written
from steersman.runtime.sharding.core import (
    Answer,
    Command,
    Drain,
    Drained,
    Event,
    Leave,
    Record,
    Remove,
    Seen,
    ShardCore,
    ShardSettings,
    Stop,
)
from steersman.runtime.sharding.views import owner

__all__ = ["Faults", "World"]

OBJECTS = [f"shop/app-{number}" for number in range(12)]
SETTINGS = ShardSettings()


@dataclass(frozen=True, slots=True)
class Faults:
    """How unkind the world is."""

    lost: float = 0.05
    """The part of requests, and of answers, that never arrive."""
    slow: float = 0.05
    """The part of messages that takes up to `slow_s`; those of a watch hold up what comes after them."""
    slow_s: float = 10.0
    drift: float = 0.15
    """How far a clock's speed may be off."""
    trouble_every_s: float = 4.0


class World:
    def __init__(self, seed: int, faults: Faults | None = None, *, count: int = 0) -> None:
        self.random = random.Random(seed)
        self.faults = faults or Faults()
        self.now = 0.0
        self.leases: dict[str, Record] = {}
        self.works = 0
        self.is_calm = False
        #: The longest that an object had nobody, since the last trouble.
        self.longest_alone_s = 0.0
        self._alone_since = dict.fromkeys(OBJECTS, 0.0)
        self._version = itertools.count(1)
        self._names = itertools.count(1)
        self._order = itertools.count()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.members: list[Member] = []
        for _ in range(count or self.random.randint(2, 5)):
            self.add()
        self._look()
        self._plan_trouble()

    def add(self) -> Member:
        member = Member(self, f"member-{next(self._names)}")
        self.members.append(member)
        member.step(Seen(tuple(self.leases.values())))
        return member

    def at(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (max(when, self.now), next(self._order), action))

    def run(self, until: float) -> None:
        """Let everything happen; after each step nobody may do what another does."""
        while self._agenda and self._agenda[0][0] <= until:
            self.now, _, action = heapq.heappop(self._agenda)
            action()
            self._check()
        self.now = until

    def _check(self) -> None:
        at_work: dict[str, str] = {}
        for member in self.members:
            if not member.work or not member.core.valid(member.clock()):
                continue
            for unit in member.work:
                other = at_work.setdefault(unit, member.name)
                assert other == member.name, f"at {self.now:.3f} s {unit}: {other} and {member.name}"

    def _look(self) -> None:
        """Which objects have nobody."""
        for unit in OBJECTS:
            if any(member.owns(unit) for member in self.members if not member.paused):
                self._alone_since[unit] = self.now
            self.longest_alone_s = max(self.longest_alone_s, self.now - self._alone_since[unit])
        self.at(self.now + 0.1, self._look)

    def trouble_now(self) -> None:
        """Waiting for somebody is measured from here."""
        self.longest_alone_s = 0.0
        self._alone_since = dict.fromkeys(OBJECTS, self.now)

    def calm(self) -> None:
        """No faults from here on; whoever is paused or cut off is back."""
        self.is_calm = True
        self.faults = Faults(lost=0, slow=0)
        for member in self.members:
            member.reconnect()
            member.resume()
        self.trouble_now()

    def _plan_trouble(self) -> None:
        self.at(self.now + self.random.expovariate(1 / self.faults.trouble_every_s), self._trouble)

    def _trouble(self) -> None:
        if self.is_calm:
            return
        self._plan_trouble()
        if not self.members:
            self.add()
            return
        victim = self.random.choice(self.members)
        match self.random.choice(("pause", "cut off", "kill", "leave", "add", "add")):
            case "pause":
                victim.paused = True
                self.at(self.now + self.random.uniform(0, 15), victim.resume)
            case "cut off":
                victim.cut_off = True
                self.at(self.now + self.random.uniform(0, 15), victim.reconnect)
            case "kill":
                victim.kill()
            case "leave" if not victim.paused:
                victim.leave()
            case "add" if len(self.members) < 6:
                self.add()

    def travel_s(self, member: Member) -> float | None:
        """How long a message takes; None if it never arrives."""
        if member.cut_off or self.random.random() < self.faults.lost:
            return None
        return self.delay_s()

    def delay_s(self) -> float:
        if self.random.random() < self.faults.slow:
            return self.random.uniform(0.0, self.faults.slow_s)
        return self.random.uniform(0.001, 0.05)

    def serve(self, member: str, command: Read | Write) -> Answer:
        """What the API server does when a request arrives."""
        stored = self.leases.get(member)
        if isinstance(command, Read):
            return Found(command.request, stored)
        if command.lease.version != (stored.version if stored is not None else ""):
            return Refused(command.request)
        record = self.leases[member] = replace(command.lease, version=str(next(self._version)))
        self.changed()
        return Written(command.request, record)

    def remove(self, command: Remove) -> None:
        stored = self.leases.get(command.member)
        if stored is None or stored.version != command.version:
            return
        emptied = replace(stored, claim=frozenset(), version=str(next(self._version)))
        self.leases[command.member] = emptied
        self.changed()
        self.at(self.now + self.delay_s(), lambda: self._delete(emptied))

    def _delete(self, record: Record) -> None:
        if self.leases.get(record.member) == record:
            del self.leases[record.member]
            self.changed()

    def changed(self) -> None:
        records = tuple(self.leases.values())
        for member in self.members:
            member.watch(records)


class Member:
    """A process with a clock of its own."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        drift = world.faults.drift
        self._rate = world.random.uniform(1 - drift, 1 + drift)
        self._offset = world.random.uniform(0, 1e6)
        self.cut_off = False
        self.paused = False
        self._inbox: list[Callable[[], None]] = []
        self._is_dead = False
        self._is_leaving = False
        self._timer = 0
        self._watch_at = 0.0
        self._drain: Drain | None = None
        #: What is worked on, each with a number.
        self.work: dict[str, int] = {}
        self.core = ShardCore(name, SETTINGS)
        self._in(world.random.uniform(0, 0.5), lambda: self.step(Tick()))
        self._in(world.random.uniform(0, 0.1), self._start_work)

    def clock(self) -> float:
        return self._offset + self.world.now * self._rate

    def owns(self, unit: str) -> bool:
        return not self._is_leaving and self.core.valid(self.clock()) and self.core.view.owns(unit)

    def _in(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do something after so much true time, unless the process is gone; later if it is paused."""

        def happen() -> None:
            if self._is_dead:
                return
            if self.paused:
                self._inbox.append(happen)
            else:
                action()

        self.world.at(self.world.now + delay_s, happen)

    # trouble

    def resume(self) -> None:
        self.paused = False
        inbox, self._inbox = self._inbox, []
        # What was waiting is there at once, in any order that a process may take it.
        self.world.random.shuffle(inbox)
        for action in inbox:
            action()

    def reconnect(self) -> None:
        self.cut_off = False
        self.watch(tuple(self.world.leases.values()))

    def kill(self) -> None:
        self._is_dead = True
        self.world.members.remove(self)

    def leave(self) -> None:
        if not self._is_leaving:
            self._is_leaving = True
            self._end_all(self.world.random.uniform(0, 1), lambda: self.step(Leave()))

    # work

    def _start_work(self) -> None:
        choose = self.world.random
        for unit in choose.sample(OBJECTS, 4):
            if unit not in self.work and self.owns(unit):
                self.world.works += 1
                number = self.work[unit] = self.world.works
                takes_s = choose.uniform(0, 8) if choose.random() < 0.1 else choose.uniform(0, 0.5)
                self._in(takes_s, lambda unit=unit, number=number: self._end_work(unit, number))  # type: ignore[misc]
        self._in(choose.uniform(0.05, 0.2), self._start_work)

    def _end_work(self, unit: str, number: int) -> None:
        if self.work.get(unit) == number:
            del self.work[unit]
            self._look_drained()

    def _end_all(self, within_s: float, then: Callable[[], None]) -> None:
        def end() -> None:
            self.work.clear()
            then()

        self._in(within_s, end)

    def _begin_drain(self, drain: Drain) -> None:
        self._drain = drain
        grace_s = 0.0 if drain.at_once else SETTINGS.handover_s
        self._in(grace_s + self.world.random.uniform(0, 0.3), lambda: self._cut(drain))
        self._look_drained()

    def _cut(self, drain: Drain) -> None:
        if self._drain is drain:
            for unit in self._outside(drain):
                del self.work[unit]
            self._look_drained()

    def _outside(self, drain: Drain) -> list[str]:
        return [unit for unit in self.work if owner(unit, drain.claim) != self.name]

    def _look_drained(self) -> None:
        drain = self._drain
        if drain is not None and not self._outside(drain):
            self._drain = None
            self._in(0.0, lambda: self.step(Drained(drain.generation)))

    # the API

    def watch(self, records: tuple[Record, ...]) -> None:
        """The state of the API, later than all states before it."""
        if self.cut_off:
            return
        self._watch_at = max(self._watch_at, self.world.now + self.world.delay_s())
        self._in(self._watch_at - self.world.now, lambda: self.step(Seen(records)))

    def step(self, event: Event) -> None:
        for command in self.core.step(event, self.clock()):
            self._execute(command)
        due = self.core.wake_at
        if due is None:
            return
        self._timer += 1
        timer = self._timer
        self._in(max(0.0, (due - self.clock()) / self._rate), lambda: self._tick(timer))

    def _tick(self, timer: int) -> None:
        if timer == self._timer:
            self.step(Tick())

    def _execute(self, command: Command) -> None:
        match command:
            case Read() | Write():
                self._send(command)
            case Remove():
                if (there_s := self.world.travel_s(self)) is not None:
                    self.world.at(self.world.now + there_s, lambda: self.world.remove(command))
            case Drain():
                self._begin_drain(command)
            case Stop():
                self.kill()

    def _send(self, command: Read | Write) -> None:
        world = self.world
        self._in(command.timeout_s / self._rate, lambda: self.step(Unanswered(command.request)))
        if (there_s := world.travel_s(self)) is None:
            return

        def arrive() -> None:
            answer = world.serve(self.name, command)
            back_s = world.travel_s(self)
            if back_s is not None:
                self._in(back_s, lambda: self.step(answer))

        # On its way even if the sender dies.
        world.at(world.now + there_s, arrive)
