"""A world for lease contenders: one API server, clocks that drift, requests that get lost, processes that
hang, crash and come back. One seed decides everything.

Time is simulated; the contenders are the real `LeaseCore`, driven as the engine drives it.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from steersman.election.lease.core import (
    Answer,
    Command,
    Elect,
    Event,
    Lease,
    LeaseCore,
    LeaseSettings,
    Lose,
    State,
    Stop,
    WorkEnded,
)
from steersman.election.lease.requests import Found, Read, Refused, Tick, Unanswered, Write, Written

__all__ = ["Faults", "World"]


@dataclass(frozen=True, slots=True)
class Faults:
    """How unkind the world is."""

    lost: float = 0.1
    """The part of requests, and of answers, that never arrive."""
    slow: float = 0.1
    """The part that takes up to `slow_s`."""
    slow_s: float = 20.0
    drift: float = 0.15
    """How far a clock's speed may be off."""
    trouble_every_s: float = 8.0
    """How often a process is paused, cut off, killed, or ends its work, on average."""


class World:
    def __init__(self, seed: int, faults: Faults | None = None, *, same_identity: bool = False) -> None:
        self.random = random.Random(seed)
        self.faults = faults or Faults()
        self.now = 0.0
        self.lease: Lease | None = None
        self.is_calm = False
        self.elections: list[tuple[float, str, int]] = []
        self._version = 0
        self._order = itertools.count()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        count = self.random.randint(3, 5)
        self.nodes = [
            Node(self, "twin" if same_identity and index < 2 else f"node-{index}") for index in range(count)
        ]

    def at(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (max(when, self.now), next(self._order), action))

    def run(self, until: float) -> None:
        """Let everything happen; after each step at most one may lead."""
        while self._agenda and self._agenda[0][0] <= until:
            self.now, _, action = heapq.heappop(self._agenda)
            action()
            leaders = self.leaders()
            assert len(leaders) <= 1, f"at {self.now:.3f} s: {leaders}"
        self.now = until

    def leaders(self) -> list[str]:
        return [node.name for node in self.nodes if node.core.leads(node.clock())]

    def calm(self) -> None:
        """No faults from here on; whoever is paused or cut off is back."""
        self.is_calm = True
        self.faults = Faults(lost=0, slow=0)
        for node in self.nodes:
            node.cut_off = False
            node.resume()

    def elected(self, node: Node, term: int) -> None:
        if self.elections:
            assert term > self.elections[-1][2], f"{node.name} has term {term} after {self.elections[-1]}"
        self.elections.append((self.now, node.name, term))

    def travel_s(self, node: Node) -> float | None:
        """How long a message takes; None if it never arrives."""
        if node.cut_off or self.random.random() < self.faults.lost:
            return None
        if self.random.random() < self.faults.slow:
            return self.random.uniform(0.0, self.faults.slow_s)
        return self.random.uniform(0.001, 0.05)

    def serve(self, command: Read | Write) -> Answer:
        """What the API server does when a request arrives."""
        if isinstance(command, Read):
            return Found(command.request, self.lease)
        stored = self.lease.version if self.lease is not None else ""
        if command.lease.version != stored:
            return Refused(command.request)
        self._version += 1
        self.lease = replace(command.lease, version=str(self._version))
        return Written(command.request, self.lease)


class Node:
    """A process with a clock of its own."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        drift = world.faults.drift
        self._rate = world.random.uniform(1 - drift, 1 + drift)
        self._offset = world.random.uniform(0, 1e6)
        self.cut_off = False
        self._paused = False
        self._inbox: list[Callable[[], None]] = []
        self._generation = 0
        self._timer = 0
        self._working = False
        self.restart()
        self._plan_trouble()

    def clock(self) -> float:
        return self._offset + self.world.now * self._rate

    def restart(self) -> None:
        """A new process: what the old one waited for never comes."""
        self._generation += 1
        self._working = False
        self.core = LeaseCore(self.name, LeaseSettings(), self.world.random.random)
        self._step(Tick())

    def resume(self) -> None:
        self._paused = False
        inbox, self._inbox = self._inbox, []
        for action in inbox:
            action()

    def _in(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do something after so much true time, unless the process is gone; later if it is paused."""
        generation = self._generation

        def happen() -> None:
            if generation != self._generation:
                return
            if self._paused:
                self._inbox.append(happen)
            else:
                action()

        self.world.at(self.world.now + delay_s, happen)

    def _step(self, event: Event) -> None:
        # The wall clocks are hopeless: they only tell records apart.
        wall = f"{self.world.now:.6f} {self._generation}"
        self._execute(self.core.step(event, self.clock(), wall))
        due = self.core.wake_at
        if due is None:
            return
        self._timer += 1
        timer = self._timer
        self._in((due - self.clock()) / self._rate, lambda: self._tick(timer))

    def _tick(self, timer: int) -> None:
        if timer == self._timer:
            self._step(Tick())

    def _execute(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Read() | Write():
                    self._send(command)
                case Elect(term):
                    self._working = True
                    self.world.elected(self, term)
                case Lose():
                    # The work takes its time to notice.
                    self._in(self.world.random.uniform(0.0, 5.0), self._end_work)
                case Stop():
                    self._in(self.world.random.uniform(0.0, 10.0), self.restart)

    def _send(self, command: Read | Write) -> None:
        world = self.world
        self._in(command.timeout_s / self._rate, lambda: self._step(Unanswered(command.request)))
        if (there_s := world.travel_s(self)) is None:
            return
        generation = self._generation

        def arrive() -> None:
            answer = world.serve(command)
            back_s = world.travel_s(self)
            if back_s is not None and generation == self._generation:
                self._in(back_s, lambda: self._step(answer))

        # On its way even if the sender dies.
        world.at(world.now + there_s, arrive)

    def _end_work(self) -> None:
        if self._working:
            self._working = False
            self._step(WorkEnded())

    def _plan_trouble(self) -> None:
        self.world.at(
            self.world.now + self.world.random.expovariate(1 / self.world.faults.trouble_every_s),
            self._trouble,
        )

    def _trouble(self) -> None:
        if self.world.is_calm:
            return
        choose = self.world.random
        match choose.choice(("pause", "cut off", "kill", "end", "nothing")):
            case "pause":
                self._paused = True
                self.world.at(self.world.now + choose.uniform(0, 40), self.resume)
            case "cut off":
                self.cut_off = True
                self.world.at(self.world.now + choose.uniform(0, 40), self._reconnect)
            case "kill":
                self._paused = False
                self._inbox.clear()
                self.restart()
            case "end" if self.core.state is State.LEADING and not self._paused:
                self._end_work()
        self._plan_trouble()

    def _reconnect(self) -> None:
        self.cut_off = False
