"""Clients that read and write registers through any member, and remember what they saw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from steersman.raft.core import Ready, Refused
from tests.sim.raft.linearizability import Operation, linearizable
from tests.sim.raft.machine import command
from tests.sim.raft.world import Node, World

__all__ = ["Clients"]

_KEYS = 3
_PATIENCE_S = 0.5


@dataclass(slots=True)
class _Call:
    """An operation under way."""

    key: int
    operation: Operation
    #: What the client does next.
    proceed: Callable[[], None]
    finished: bool = False


class Clients:
    def __init__(self, world: World, count: int, think_s: tuple[float, float]) -> None:
        self._world = world
        self._think_s = think_s
        self._history: dict[int, list[_Call]] = {key: [] for key in range(_KEYS)}
        self._number = 0
        #: Writes by node, its life and index: the term they were proposed in, and the call.
        self._writes: dict[tuple[int, int, int], tuple[int, _Call]] = {}
        #: Reads by context.
        self._reads: dict[int, _Call] = {}
        self._stopped = False
        for node in world.nodes.values():
            node.on_applied = self._applied
        for _ in range(count):
            self._think()

    def stop(self) -> None:
        self._stopped = True

    @property
    def answered(self) -> int:
        return sum(call.operation.returned < math.inf for calls in self._history.values() for call in calls)

    def check(self) -> None:
        for key, calls in self._history.items():
            history = [call.operation for call in calls if call.operation.write or call.finished]
            assert linearizable(history), f"linearizability: register {key} has an impossible history"

    def _think(self) -> None:
        world = self._world
        if not self._stopped:
            world.at(world.now + world.rng.uniform(*self._think_s), None, self._invoke)

    def _invoke(self) -> None:
        """One operation of one client: it goes on when that is answered, or patience ends."""
        world = self._world
        rng = world.rng
        node = world.nodes[rng.choice(list(world.nodes))]
        if rng.random() < 0.7 and node.raft is not None:  # ask the leader, as far as that one knows
            node = world.nodes.get(node.raft.leader, node)
        if node.raft is None or world.now < node.paused_until:
            self._think()
            return
        self._number += 1
        write = rng.random() < 0.5
        value = self._number if write else 0
        call = _Call(rng.randrange(_KEYS), Operation(world.now, math.inf, value, write), self._think)
        try:
            self._start(node, call)
        except Refused:
            self._think()
            return
        self._history[call.key].append(call)
        world.at(world.now + _PATIENCE_S, None, lambda: self._give_up(call))
        node.work()

    def _start(self, node: Node, call: _Call) -> None:
        raft = node.raft
        assert raft is not None
        if call.operation.write:
            index, term = raft.propose([command(call.key, call.operation.value)], node.clock())
            self._writes[node.id, node.life, index] = term, call
        else:
            raft.read_index(self._number, node.clock(), lease=self._world.rng.random() < 0.5)
            self._reads[self._number] = call

    def _give_up(self, call: _Call) -> None:
        if not call.finished:
            call.proceed()
            call.proceed = lambda: None

    def _applied(self, node: Node, ready: Ready) -> None:
        for entry in ready.committed:
            term, call = self._writes.pop((node.id, node.life, entry.index), (0, None))
            if call is None:
                continue
            if term == entry.term:
                self._answer(call, call.operation.value)
            else:  # something else is there: this write will never happen
                self._history[call.key].remove(call)
                call.proceed()
        for read in ready.reads:
            found = self._reads.pop(read.context, None)
            if found is not None:
                self._answer(found, node.machine.values.get(found.key, 0))

    def _answer(self, call: _Call, value: int) -> None:
        call.finished = True
        call.operation = replace(call.operation, returned=self._world.now, value=value)
        call.proceed()
