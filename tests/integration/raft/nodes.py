"""Clusters of nodes in this process, each on its own thread, over gRPC on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from steersman.raft.config import NodeConfig
from steersman.raft.manager import RaftNodeManager
from tests.support import waiting
from tests.support.ports import free_ports

__all__ = ["cluster", "configs", "leader_of", "until"]

Shape = Callable[[NodeConfig], NodeConfig]


async def until(condition: Callable[[], Any | Awaitable[Any]], patience_s: float = 20.0) -> Any:
    """What `condition` says, or is awaited to say, as soon as it is true."""
    return await waiting.until(condition, patience_s)


def configs(size: int, name: str = "test") -> list[NodeConfig]:
    peers = {node: f"node-{node}=127.0.0.1:{port}" for node, port in enumerate(free_ports(size))}
    return [NodeConfig(name).node_id(node).peers(peers) for node in range(size)]


async def leader_of(managers: list[RaftNodeManager]) -> RaftNodeManager:
    leader: RaftNodeManager = await until(
        lambda: next((manager for manager in managers if manager.is_leader), None)
    )
    return leader


async def _voters(managers: list[RaftNodeManager]) -> int:
    return len(await (await leader_of(managers)).voters())


def _patient(config: NodeConfig) -> NodeConfig:
    """Slower than usual to believe that a leader is gone: a busy machine is not to change who leads."""
    return config.timing(heartbeat_s=0.3, election_min_s=1.5, election_max_s=2.0)


@asynccontextmanager
async def cluster(size: int, shape: Shape = lambda config: config) -> AsyncIterator[list[RaftNodeManager]]:
    """All of them vote; who leads does so until it is told otherwise or stops."""
    async with AsyncExitStack() as stack:
        patient = configs(size) if size == 1 else map(_patient, configs(size))
        managers = [RaftNodeManager(shape(config)) for config in patient]
        for manager in managers:
            await stack.enter_async_context(manager)

        async def complete() -> bool:
            return await _voters(managers) == size

        await until(complete)
        yield managers
