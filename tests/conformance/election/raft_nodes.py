"""An arena of three Raft nodes in virtual time: every contender has one, and it can be cut off from the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from steersman.election import Elector
from steersman.election.raft import RaftElector
from tests.sim.virtual_time import VirtualClock
from tests.support.raft_here import NodeHere, Wires, nodes_here

__all__ = ["raft_arena"]


class RaftArena:
    def __init__(self, nodes: Mapping[str, NodeHere], wires: Wires) -> None:
        self._nodes = nodes
        self._wires = wires

    def contender(self, identity: str) -> Elector:
        return RaftElector(self._nodes[identity], clock=VirtualClock())

    def cut_off(self, identity: str) -> None:
        self._wires.cut.add(identity)

    def heal(self, identity: str) -> None:
        self._wires.cut.discard(identity)


@asynccontextmanager
async def raft_arena() -> AsyncIterator[RaftArena]:
    wires = Wires()
    async with nodes_here(wires, VirtualClock()) as nodes:
        # Whoever has a node is about to contend with it, and not before.
        for node in nodes.values():
            await node.contend(False)
        yield RaftArena(nodes, wires)
