"""Raft nodes on the caller's loop, and therefore in its time: virtual, if that is.

Raft's lease lasts 0.2 s. On a machine that does other things as well a leader with a real clock loses it now
and then, and rightly so; what is promised of leaders is asked here, where nobody is ever late. Nodes on threads
of their own, over gRPC, are in `tests/integration/raft` and `tests/e2e/raft`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence, Set
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

from steersman.aio import Clock
from steersman.raft.config import NodeConfig
from steersman.raft.core import Message
from steersman.raft.discovery import node_of
from steersman.raft.errors import PeerUnavailable
from steersman.raft.manager import RaftNodeManager
from steersman.raft.membership import ClusterManager
from steersman.raft.state_machine import Located
from steersman.raft.transport import JoinReply, JoinRequest, ProbeReply, ProbeRequest, Receiver
from tests.support.waiting import until

__all__ = ["NodeHere", "Wires", "nodes_here"]

NAMES = ("a", "b", "c")
#: How long a message is under way.
DELAY_S = 0.002
#: Of the loop's time: more than it takes to found a cluster.
FOUNDING_S = 60.0


class NodeHere(RaftNodeManager):
    """A node on the caller's loop, and therefore in its time."""

    _life: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self._life is not None

    async def start(self) -> None:
        started: Future[None] = Future()
        self._life = asyncio.create_task(self._main(started))
        await asyncio.wrap_future(started)

    async def _end(self) -> None:
        if self._life is None:
            return
        self._stopping.set()
        await self._life
        self._life = self._loop = self._node = None


class Wires:
    """What lies between the nodes; loses everything to and from those that are `cut`."""

    def __init__(self) -> None:
        self.receivers: dict[str, Receiver] = {}
        self.cut: set[str] = set()

    def join(self, one: str, other: str) -> Receiver | None:
        """The other end, if it can be reached."""
        return None if self.cut & {one, other} else self.receivers.get(other)


class Port:
    """One node's end of the wires: its `Network`."""

    def __init__(self, wires: Wires, cluster: ClusterManager) -> None:
        self._wires = wires
        self._cluster = cluster
        self._name = cluster.located.name

    async def start(self, receiver: Receiver) -> None:
        self._wires.receivers[self._name] = receiver

    async def stop(self) -> None:
        del self._wires.receivers[self._name]

    def keep(self, members: Set[int]) -> None:
        pass

    def send(self, messages: Sequence[Message]) -> None:
        asyncio.get_running_loop().call_later(DELAY_S, self._deliver, messages)

    def _deliver(self, messages: Sequence[Message]) -> None:
        for message in messages:
            receiver = self._wires.join(self._name, NAMES[node_of(message.to)])
            if receiver is not None and not receiver.admit(self._cluster.hello(message.to)):
                receiver.receive([message])

    async def probe(self, at: Located, request: ProbeRequest) -> ProbeReply:
        return (await self._reach(at)).probed(request)

    async def join(self, at: Located, request: JoinRequest) -> JoinReply:
        return await (await self._reach(at)).joining(request)

    async def _reach(self, at: Located) -> Receiver:
        await asyncio.sleep(DELAY_S)
        receiver = self._wires.join(self._name, at.name)
        if receiver is None:
            raise PeerUnavailable(f"{at.name} does not answer")
        return receiver


@asynccontextmanager
async def nodes_here(wires: Wires, clock: Clock) -> AsyncIterator[dict[str, NodeHere]]:
    """Three of them, by name. All vote; the first contends, and leads."""
    peers = {node: f"{name}=127.0.0.1:{node + 1}" for node, name in enumerate(NAMES)}
    nodes = {
        name: NodeHere(
            NodeConfig("lock").node_id(node).peers(peers),
            contending=node == 0,
            network=lambda _, cluster: Port(wires, cluster),
            clock=clock,
            rng=Random(node),
        )
        for node, name in enumerate(NAMES)
    }
    async with AsyncExitStack() as stack:
        for node in nodes.values():
            await stack.enter_async_context(node)
        founder = nodes[NAMES[0]]

        async def founded() -> bool:
            return founder.is_leader and len(await founder.voters()) >= len(NAMES)

        await until(founded, FOUNDING_S, every_s=0.1)
        yield nodes
