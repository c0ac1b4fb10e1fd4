"""Members on a table: time passes, messages travel and disks write only when the test says so.

For scenarios and unit tests, where the simulation's chance would be in the way. All clocks are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from steersman.raft.core import Config, Entry, EntryKind, Message, Raft, Read, Ready
from tests.sim.raft.checks import Checks
from tests.sim.raft.disk import Content, Disk, HeldSnapshot

__all__ = ["Lab", "Seat"]


class Seat:
    """One member, its disk, and what came out of it."""

    def __init__(self, lab: Lab, config: Config, content: Content) -> None:
        self.lab = lab
        self.id = config.id
        self.config = config
        self.disk = Disk(content)
        #: While true, writes do not become durable.
        self.holds_writes = False
        self.unpersisted: list[Ready] = []
        self.applied: list[Entry] = []
        self.reads: list[Read] = []
        self.installed: list[int] = []
        self.raft: Raft | None = None
        self.start()

    def clock(self) -> float:
        return self.lab.now

    @property
    def core(self) -> Raft:
        assert self.raft is not None, f"member {self.id} is down"
        return self.raft

    def start(self) -> None:
        self.raft = Raft(self.config, self.disk.seen, self.lab.now, Random(self.id))
        self.pump()

    def crash(self) -> None:
        """Everything that was not durable is lost."""
        self.raft = None
        self.unpersisted.clear()
        self.disk.crash(_Pessimist())

    def pump(self) -> None:
        raft = self.core
        while (ready := raft.ready()) is not None:
            self.lab.checks.written(raft, ready.entries)
            self.lab.wire += ready.messages
            self.disk.write(lambda content, ready=ready: content.write(ready))  # type: ignore[misc]
            self.unpersisted.append(ready)
            self._apply(ready)
            if not self.holds_writes:
                self.persist()

    def persist(self) -> None:
        """All writes become durable."""
        readies, self.unpersisted = self.unpersisted, []
        for ready in readies:
            self.disk.sync(1)
            self.lab.checks.sent(ready.messages_after_persist)
            self.lab.wire += ready.messages_after_persist
        if readies:
            self.core.persisted(readies[-1].number, self.lab.now)

    def _apply(self, ready: Ready) -> None:
        if ready.snapshot is not None:
            self.lab.checks.installed(self.core, ready.snapshot)
            self.installed.append(ready.snapshot.meta.index)
            self.core.applied(ready.snapshot.meta.index)
        if ready.committed:
            self.lab.checks.applied(self.core, ready.committed)
            self.applied += ready.committed
            self.core.applied(ready.committed[-1].index)
        self.reads += ready.reads

    def compact(self, index: int, data: bytes = b"state") -> None:
        held = HeldSnapshot(self.core.snapshot_meta(index), data)
        self.core.compact(index)
        for operation in (lambda content: content.keep(held), lambda content: content.compact(index)):
            self.disk.write(operation)
            self.disk.sync(1)

    @property
    def data(self) -> list[str]:
        """The proposals that were applied."""
        return [entry.data.decode() for entry in self.applied if entry.kind == EntryKind.DATA]

    def log(self) -> list[Entry]:
        log = self.core.log
        entries: list[Entry] = []
        while log.first + len(entries) <= log.last:
            entries += log.entries(log.first + len(entries), log.last + 1, 1 << 20)
        return entries


class _Pessimist(Random):
    """Nothing survives but what was synced."""

    def randint(self, a: int, b: int) -> int:
        return a


class Lab:
    def __init__(self, voters: Iterable[int], joiners: Iterable[int] = (), **settings: Any) -> None:
        self.now = 100.0
        self.checks = Checks()
        self.wire: list[Message] = []
        self.cut: set[tuple[int, int]] = set()
        self.seats: dict[int, Seat] = {}
        self._settings = settings
        founders = list(voters)
        for id_ in founders:
            self.seats[id_] = Seat(self, Config(id=id_, **settings), Content.of_founder(founders))
        for id_ in joiners:
            self.seats[id_] = Seat(self, Config(id=id_, **settings), Content())

    def __getitem__(self, id_: int) -> Raft:
        return self.seats[id_].core

    # Time

    def wait(self, seconds: float) -> None:
        """Time passes and nobody notices."""
        self.now += seconds

    def tick(self, id_: int) -> None:
        self[id_].tick(self.now)
        self._after(id_)

    def timeout(self, id_: int) -> None:
        """Time passes until this member has something to do, and it does it."""
        self.now = max(self.now, self[id_].deadline)
        self.tick(id_)

    def elect(self, id_: int) -> None:
        """Everybody's patience ends; this member is the first to notice."""
        before = self[id_].term
        for _ in range(3):  # a leader steps down first; a term that has passed must be learned of
            self.wait(1.0)
            self.timeout(id_)
            self.settle()
            if self[id_].leader == id_ and self[id_].term > before:
                return
        raise AssertionError(f"member {id_} was not elected")

    # Calls

    def call(self, id_: int, action: Callable[[Raft], object]) -> None:
        action(self[id_])
        self._after(id_)

    def propose(self, id_: int, *data: str) -> None:
        self.call(id_, lambda raft: raft.propose([item.encode() for item in data], self.now))

    def step(self, message: Message) -> None:
        """A message out of nowhere."""
        self.call(message.to, lambda raft: raft.step(message, self.now))

    def _after(self, id_: int) -> None:
        self.seats[id_].pump()
        self.checks.members(self.seats.values())

    # Network

    def isolate(self, id_: int) -> None:
        self.cut |= {pair for other in self.seats for pair in ((id_, other), (other, id_))}

    def deliver(self, wanted: Callable[[Message], bool] = lambda message: True) -> int:
        """The messages that are on the wire now, once; how many arrived."""
        batch, self.wire = self.wire, []
        count = 0
        for message in batch:
            if not wanted(message):
                self.wire.append(message)
            elif (message.sender, message.to) not in self.cut and self._is_up(message.to):
                self.step(message)
                count += 1
        return count

    def _is_up(self, id_: int) -> bool:
        return id_ in self.seats and self.seats[id_].raft is not None

    def settle(self) -> None:
        """Deliver until all is said."""
        for _ in range(200):
            if not self.wire:
                return
            self.deliver()
        raise AssertionError("they never stop talking")

    def heartbeat(self, id_: int) -> None:
        """The leader's next round, and all that follows from it."""
        self.timeout(id_)
        self.settle()
