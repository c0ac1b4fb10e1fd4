"""A world for contenders of a lock in a store: clocks that drift, requests that get lost or arrive late,
processes that stop and go on. One seed decides everything; time is virtual.

`MemoryStore` is the dumbest store there is, and the measure for the others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from steersman.aio import Scope
from steersman.election import Leadership
from steersman.election.lock import contest

__all__ = ["Contender", "MemoryStore", "Record", "World"]


@dataclass(frozen=True)
class Record:
    holder: str = ""
    token: str = ""
    term: int = 0
    until: float = 0.0
    duration_s: float = 0.0


class MemoryStore:
    """One lock on the loop's clock."""

    def __init__(self) -> None:
        self.record = Record()

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def observe(self) -> Any:
        record = self.record
        return contest.LockState(record.holder, record.token, record.term, record.until - self.now)

    def acquire(self, holder: str, token: str, floor: int, duration_s: float) -> Any:
        record = self.record
        record = replace(record, term=max(record.term, floor))
        if record.until <= self.now:
            record = replace(record, holder=holder, token=token, term=record.term + 1)
        if record.token == token:
            record = replace(record, until=self.now + duration_s, duration_s=duration_s)
        self.record = replace(record, until=min(record.until, self.now + record.duration_s))
        return self.observe()

    def renew(self, token: str, term: int, duration_s: float) -> bool:
        if (self.record.token, self.record.term) != (token, term):
            return False
        self.record = replace(self.record, until=self.now + duration_s, duration_s=duration_s)
        return True

    def release(self, token: str) -> None:
        if self.record.token == token:
            self.record = replace(self.record, holder="", token="", until=0.0)


class Line:
    """The store as one contender reaches it. Requests that were given up may still arrive."""

    def __init__(self, contender: Contender) -> None:
        self._contender = contender
        self._world = contender.world
        self.sent: list[str] = []
        self.sent_at: dict[str, float] = {}
        self.delay_s = 0.0
        """How long everything takes, each way."""
        self.lost: set[str] = set()
        """The requests that never arrive."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def request(*arguments: Any) -> Any:
            self.sent.append(name)
            self.sent_at[name] = asyncio.get_running_loop().time()
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            if name not in self.lost:
                self._world.network.start(self._carry(name, arguments, answer))
            result = await answer
            await self._contender.going.wait()
            return result

        return request

    async def close(self) -> None:
        pass

    async def _carry(self, name: str, arguments: tuple[Any, ...], answer: asyncio.Future[Any]) -> None:
        await self._world.travel(self._contender)
        result = getattr(self._world.store, name)(*arguments)
        await self._world.travel(self._contender)
        if not answer.done():
            answer.set_result(result)


class Clock:
    """Its second is not quite a second, and a process that is stopped does not wake up."""

    def __init__(self, contender: Contender, speed: float) -> None:
        self._contender = contender
        self._speed = speed

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() * self._speed

    def wall(self) -> float:
        raise AssertionError("the time of day decides nothing")

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s / self._speed)
        await self._contender.going.wait()


class Contender:
    def __init__(self, world: World, identity: str, speed: float = 1.0) -> None:
        self.world = world
        self.going = asyncio.Event()
        self.going.set()
        self.connected = asyncio.Event()
        self.connected.set()
        self.line = Line(self)
        self.working = 0
        self.leaderships: list[Leadership] = []
        self.elector = contest.LockElector(
            self.line, "lock", identity=identity, clock=Clock(self, speed), rand=world.random.random
        )

    async def work(self, leadership: Leadership) -> None:
        assert not self.working, "work began before the last one had ended"
        self.leaderships.append(leadership)
        self.world.elected(leadership)
        self.working += 1
        try:
            await asyncio.sleep(self.world.work_s())
        finally:
            try:
                await asyncio.sleep(self.world.cleanup_s())
            finally:
                self.working -= 1

    async def run_for_ever(self) -> None:
        while True:
            await self.elector.run(self.work)


class World:
    """Everything goes wrong at random until it is `calm`."""

    def __init__(self, seed: int, network: Scope, processes: Scope) -> None:
        self.random = random.Random(seed)
        self.network = network
        self.processes = processes
        self.store = MemoryStore()
        self.calm = False
        self.terms: list[int] = []
        self.contenders: list[Contender] = []

    def add(self, identity: str, speed: float = 1.0) -> Contender:
        contender = Contender(self, identity, speed)
        self.contenders.append(contender)
        return contender

    def add_some(self) -> None:
        """A handful, with clocks that drift; two of them believe to be the same."""
        for index in range(self.random.randint(3, 5)):
            self.add(f"node-{max(1, index)}", self.random.uniform(0.85, 1.15))

    def work_s(self) -> float:
        return self.random.uniform(0, 100) if not self.calm else 1e9

    def cleanup_s(self) -> float:
        return self.random.choice((0.0, 0.0, 0.5, 20.0)) if not self.calm else 0.0

    async def travel(self, contender: Contender) -> None:
        """What happens to a request, or to its answer, on its way."""
        fate = self.random.random()
        delay_s = self.random.uniform(0, 0.1) + contender.line.delay_s
        if not self.calm and fate < 0.1:
            delay_s = self.random.uniform(0, 40)
        elif not self.calm and fate < 0.15:
            delay_s = 1e9
        await asyncio.sleep(delay_s)
        await contender.connected.wait()

    def elected(self, leadership: Leadership) -> None:
        assert leadership.valid, "work begins though leadership is over"
        assert leadership.term > max(self.terms, default=0), (leadership.term, self.terms)
        self.terms.append(leadership.term)

    def leaders(self) -> list[str]:
        return [one.elector.identity for one in self.contenders if one.elector.is_leader]

    async def watch(self, until_s: float) -> None:
        """At most one leads, at any moment."""
        while asyncio.get_running_loop().time() < until_s:
            leaders = self.leaders()
            assert len(leaders) <= 1, f"at {asyncio.get_running_loop().time():.2f} s: {leaders}"
            await asyncio.sleep(0.1)

    async def trouble(self) -> None:
        """Processes stop and go on, and are cut off and connected again."""
        while not self.calm:
            await asyncio.sleep(self.random.expovariate(1 / 4))
            contender = self.random.choice(self.contenders)
            switch = self.random.choice((contender.going, contender.connected))
            if switch.is_set():
                switch.clear()
            else:
                switch.set()

    def settle(self) -> None:
        self.calm = True
        for contender in self.contenders:
            contender.going.set()
            contender.connected.set()
