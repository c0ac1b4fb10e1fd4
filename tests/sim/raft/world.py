"""Members, network, disks and clocks in one thread: everything that happens follows from one seed.

The shell around each `Raft` does its duties as the package doc lists them. Time jumps from event to event.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from steersman.raft.core import Config, Message, Raft, Ready
from tests.sim.raft.checks import Checks
from tests.sim.raft.disk import Content, Disk, HeldSnapshot
from tests.sim.raft.machine import Registers

__all__ = ["Network", "Node", "World"]


@dataclass(slots=True)
class Network:
    latency_s: tuple[float, float] = (0.0005, 0.003)
    loss: float = 0.0
    duplication: float = 0.0
    #: Some messages take this much longer.
    straggling: float = 0.0
    straggler_s: float = 0.3


class Node:
    """One process with its disk and its clock."""

    def __init__(self, world: World, config: Config, content: Content) -> None:
        self.world = world
        self.id = config.id
        self.config = config
        self.disk = Disk(content)
        #: Local time is offset + rate · time.
        self.rate = 1.0
        self.offset_s = 0.0
        self.disk_s = world.disk_s
        #: Nothing happens in this process before this moment.
        self.paused_until = 0.0
        self.raft: Raft | None = None
        self.machine = Registers()
        #: Distinguishes lives: events of an earlier one come to nothing.
        self.life = 0
        #: What to do with entries that are applied, and reads that may be answered.
        self.on_applied: Callable[[Node, Ready], None] = lambda _node, _ready: None
        self._disk_free_at = 0.0
        self._writes: deque[Ready] = deque()
        self._woken_at = float("inf")

    def clock(self) -> float:
        return self.offset_s + self.rate * self.world.now

    def start(self) -> None:
        self.life += 1
        self.machine = Registers()
        held = self.disk.durable.held
        self.machine.load(held.meta.index, held.data)
        # It sees nothing that is not durable, as if another thread wrote; unit tests have the opposite.
        self.raft = Raft(self.config, self.disk.durable, self.clock(), Random(self.world.rng.random()))
        self._disk_free_at = self.world.now
        self._writes.clear()
        self._woken_at = float("inf")
        self.work()

    def crash(self) -> None:
        if self.raft is not None:
            self.raft = None
            self.life += 1
            self.disk.crash(self.world.rng)

    def receive(self, message: Message) -> None:
        if self.raft is not None:
            self.raft.step(message, self.clock())
            self.work()

    def work(self) -> None:
        """Take what is ready, until nothing is."""
        raft = self.raft
        assert raft is not None
        while (ready := raft.ready()) is not None:
            self.world.checks.written(raft, ready.entries)
            self.world.send(ready.messages)
            self.disk.write(lambda content, ready=ready: content.write(ready))  # type: ignore[misc]
            self._persist_later(ready)
            self._apply(raft, ready)
        self._wake()

    def _persist_later(self, ready: Ready) -> None:
        world = self.world
        delay = world.rng.uniform(*self.disk_s) if ready.must_sync else 0.0
        self._disk_free_at = max(self._disk_free_at, world.now) + delay
        self._writes.append(ready)
        world.at(self._disk_free_at, self, self._persisted)

    def _persisted(self) -> None:
        """The oldest write is done."""
        assert self.raft is not None
        ready = self._writes.popleft()
        self.disk.sync(1)
        self.world.checks.sent(ready.messages_after_persist)
        self.world.send(ready.messages_after_persist)
        self.raft.persisted(ready.number, self.clock())
        self.work()

    def _apply(self, raft: Raft, ready: Ready) -> None:
        if ready.snapshot is not None:
            self.world.checks.installed(raft, ready.snapshot)
            self.machine.install(ready.snapshot)
        if ready.committed:
            self.world.checks.applied(raft, ready.committed)
            self.machine.apply(ready.committed)
        raft.applied(self.machine.index)
        if ready.committed or ready.reads:
            self.on_applied(self, ready)

    def _wake(self) -> None:
        """Have `tick` called when it is due."""
        assert self.raft is not None
        # A little later: rounding must not wake it before its time, again and again.
        due = (self.raft.deadline - self.offset_s) / self.rate + 1e-6
        if due < self._woken_at:
            self._woken_at = max(due, self.world.now)
            self.world.at(self._woken_at, self, self._tick)

    def _tick(self) -> None:
        assert self.raft is not None
        self._woken_at = float("inf")
        self.raft.tick(self.clock())
        self.work()

    def compact(self, keep: int) -> None:
        """Take a snapshot, and shorten the log to the last `keep` entries before it."""
        raft = self.raft
        index = self.machine.index
        if raft is None or self.disk.unsynced or index <= self.disk.seen.held.meta.index:
            return
        held = HeldSnapshot(raft.snapshot_meta(index), self.machine.save())
        self.disk.write(lambda content: content.keep(held))
        self.disk.sync(1)
        raft.compact(index - keep)
        self.disk.write(lambda content: content.compact(index - keep))
        self.disk.sync(1)


class World:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 0.0
        #: What the network and the disks are like when nothing special is wrong.
        self.usual_network = self.network = Network()
        self.disk_s = (0.0001, 0.0004)
        self.nodes: dict[int, Node] = {}
        self.checks = Checks()
        #: Pairs of sender and receiver between whom nothing passes.
        self.cut: set[tuple[int, int]] = set()
        self.steps = 0
        self._events: list[tuple[float, int, Node | None, int, Callable[[], None]]] = []
        self._number = 0

    def add(self, config: Config, content: Content) -> Node:
        node = self.nodes[config.id] = Node(self, config, content)
        return node

    def at(self, time: float, node: Node | None, action: Callable[[], None]) -> None:
        """Do that at `time`; if it happens in a node, only in its present life."""
        self._number += 1
        heapq.heappush(self._events, (time, self._number, node, node.life if node else 0, action))

    def send(self, messages: Iterable[Message]) -> None:
        network = self.network
        rng = self.rng
        for message in messages:
            copies = 1 if rng.random() >= network.duplication else 2
            for _ in range(copies):
                if (message.sender, message.to) in self.cut or rng.random() < network.loss:
                    continue
                delay = rng.uniform(*network.latency_s)
                if rng.random() < network.straggling:
                    delay += rng.uniform(0, network.straggler_s)
                self._deliver(message, self.now + delay)

    def _deliver(self, message: Message, time: float) -> None:
        node = self.nodes.get(message.to)
        if node is not None:
            self.at(time, None, lambda: self._arrive(node, message))

    def _arrive(self, node: Node, message: Message) -> None:
        if self.now < node.paused_until:
            self.at(node.paused_until, None, lambda: self._arrive(node, message))
        elif (message.sender, message.to) not in self.cut:
            node.receive(message)

    def run(self, until: float, stop: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass; whether `stop` became true."""
        while self._events and self._events[0][0] <= until:
            time, _, node, life, action = heapq.heappop(self._events)
            self.now = max(self.now, time)
            if node is not None:
                if node.life != life:
                    continue
                if self.now < node.paused_until:
                    self.at(node.paused_until, node, action)
                    continue
            action()
            self.steps += 1
            self.checks.members(self.nodes.values())
            if stop():
                return True
        self.now = max(self.now, until)
        return stop()

    def leader(self) -> Node | None:
        """Who holds a valid leadership now."""
        for node in self.nodes.values():
            if node.raft is not None and node.raft.is_leader(node.clock()):
                return node
        return None
