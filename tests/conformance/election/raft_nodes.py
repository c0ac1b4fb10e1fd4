"""An arena of three Raft nodes over gRPC: every contender has one, and it can be cut off from the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from steersman.election import Elector
from steersman.election.raft import RaftElector
from steersman.raft.config import NodeConfig
from steersman.raft.core import Message
from steersman.raft.manager import RaftNodeManager
from steersman.raft.membership import ClusterManager
from steersman.raft.transport.grpc import RaftNetwork
from tests.e2e.raft.processes import free_ports
from tests.support.hurried_time import RealClock

__all__ = ["raft_arena"]

NAMES = ("a", "b", "c")


class CuttableNetwork(RaftNetwork):
    """Loses everything, both ways, while `cut`."""

    cut = False

    def send(self, messages: Sequence[Message]) -> None:
        if not self.cut:
            super().send(messages)


class CuttableCluster:
    """What the network gives to the node, unless it is cut."""

    def __init__(self, cluster: ClusterManager, network: CuttableNetwork) -> None:
        self._cluster = cluster
        self._network = network
        self.admit = cluster.admit
        self.probed = cluster.probed
        self.joining = cluster.joining

    def receive(self, messages: Sequence[Message]) -> None:
        if not self._network.cut:
            self._cluster.receive(messages)


class RaftArena:
    def __init__(self) -> None:
        self.managers: dict[str, RaftNodeManager] = {}
        self._networks: dict[str, CuttableNetwork] = {}

    def network(self, config: NodeConfig, cluster: ClusterManager) -> CuttableNetwork:
        network = self._networks[config.located.name] = CuttableNetwork(
            config.listen_address(), cluster.hello, cluster.locate
        )
        start = network.start
        network.start = lambda _: start(CuttableCluster(cluster, network))  # type: ignore[method-assign]
        return network

    def contender(self, identity: str) -> Elector:
        return RaftElector(self.managers[identity], clock=RealClock())

    def cut_off(self, identity: str) -> None:
        self._networks[identity].cut = True

    def heal(self, identity: str) -> None:
        self._networks[identity].cut = False


@asynccontextmanager
async def raft_arena(folder: Path) -> AsyncIterator[RaftArena]:
    arena = RaftArena()
    peers = {
        node: f"{name}=127.0.0.1:{port}"
        for node, (name, port) in enumerate(zip(NAMES, free_ports(len(NAMES)), strict=True))
    }
    async with AsyncExitStack() as stack:
        for node, name in enumerate(NAMES):
            config = NodeConfig("lock").node_id(node).peers(peers).storage("rocksdb", folder / name)
            manager = RaftNodeManager(config, contending=node == 0, network=arena.network)
            arena.managers[name] = await stack.enter_async_context(manager)
        founder = arena.managers["a"]
        async with asyncio.timeout(200):
            while not founder.is_leader or len(await founder.voters()) < len(NAMES):
                await asyncio.sleep(0.2)
        await founder.contend(False)
        yield arena
