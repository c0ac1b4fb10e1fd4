"""A node as a program uses it: on a thread and a loop of its own, so that no reconcile, however long it
blocks, costs leadership.

    async with RaftNodeManager(NodeConfig("my-cluster").storage("rocksdb", "/data")) as node:
        await node.put("greeting", b"hello")

Properties may be read from any thread; coroutines are awaited on the caller's loop and done on the node's.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import uvloop

from steersman.aio import Clock, Scope, SystemClock
from steersman.http import Server
from steersman.raft.administration import Administration, hand_over
from steersman.raft.bridge import Bridge
from steersman.raft.config import NodeConfig
from steersman.raft.core import Status
from steersman.raft.discovery import node_id_from_hostname, node_of
from steersman.raft.errors import NodeStopped, SettingsError
from steersman.raft.membership import SIZE_KEY, ClusterManager
from steersman.raft.node import Lease, NodeMetrics, RaftNode
from steersman.raft.probes import Probes
from steersman.raft.service import StateService
from steersman.raft.state_machine import ClusterState, Command, Delete, Put, Value
from steersman.raft.storage import Storage
from steersman.raft.transport import Network
from steersman.raft.transport.loading import load_grpc

__all__ = ["RaftNodeManager"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

MakeNetwork = Callable[[NodeConfig, ClusterManager], Network]


class RaftNodeManager:
    def __init__(
        self,
        config: NodeConfig,
        *,
        contending: bool = True,
        network: MakeNetwork | None = None,
        clock: Clock | None = None,
        rng: Random | None = None,
    ) -> None:
        """Who is not `contending` votes and stores, but does not lead; see `contend`."""
        self.config = config
        self._contending = contending
        self._clock = clock or SystemClock()
        self._rng = rng
        self._make_network = network or _grpc_network
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event
        self._cluster: ClusterManager | None = None
        self._machine = ClusterState()
        self._node: RaftNode | None = None
        self._failure = ""
        #: Loops to tell about changes, with what they wait for.
        self._subscribers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        #: For proposals, by the loop that makes them.
        self._bridges: WeakKeyDictionary[asyncio.AbstractEventLoop, Bridge] = WeakKeyDictionary()
        self.http_port = 0

    @classmethod
    def new_with_rocksdb(cls, config: NodeConfig, path: Path | str) -> Self:
        return cls(config.storage("rocksdb", path))

    node_id_from_hostname = staticmethod(node_id_from_hostname)

    # Life

    @property
    def running(self) -> bool:
        return self._thread is not None

    async def start(self) -> None:
        """Return when the node listens; it may not belong to a cluster yet. Raises what prevents it."""
        if self._thread is not None:
            raise RuntimeError("the node is running already")
        self._failure = ""
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(started,), name=f"raft-{self.config.node}", daemon=True
        )
        self._thread.start()
        try:
            await asyncio.wrap_future(started)
        except BaseException:
            await self._end()
            raise

    async def stop(self) -> None:
        """Hand leadership over, if it is here, and end."""
        await self._end()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _end(self) -> None:
        thread, loop = self._thread, self._loop
        if thread is None:
            return
        if loop is not None:
            with suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(thread.join)
        self._thread = self._loop = self._node = None
        self._bridges.clear()

    def _run(self, started: Future[None]) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            try:
                runner.run(self._main(started))
            except Exception as error:  # noqa: BLE001 - a thread's end is told to who waits for it
                self._failure = str(error) or type(error).__name__
                if not started.done():
                    started.set_exception(error)
                else:
                    _log.error("raft node %d stopped: %s", self.config.node, self._failure)
            finally:
                self._node = None
                self._tell()

    async def _main(self, started: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._machine = ClusterState()
        storage = self.config.open_storage()
        network: Network | None = None
        server = Server(Probes(self))
        disk = ThreadPoolExecutor(1, thread_name_prefix=f"raft-{self.config.node}-disk")
        try:
            cluster = self._cluster = ClusterManager(self.config, storage, self._machine, self._clock)
            network = cluster.network = self._make_network(self.config, cluster)
            await network.start(cluster)
            if self.config.settings.http:
                host, _, port = self.config.settings.http.rpartition(":")
                await server.start(host, int(port))
                self.http_port = server.port
            started.set_result(None)
            await self._live(cluster, storage, network, disk)
        finally:
            if self._node is not None:
                self._node.stop()
            await server.close()
            if network is not None:
                await network.stop()
            disk.shutdown()
            storage.close()

    async def _live(
        self, cluster: ClusterManager, storage: Storage, network: Network, disk: ThreadPoolExecutor
    ) -> None:
        """Until asked to stop, or the node fails."""
        async with Scope() as scope:
            stopping = scope.start(self._stopping.wait(), name="raft stop")
            settled = scope.start(cluster.settle(), name="raft settle")
            await asyncio.wait((stopping, settled), return_when=asyncio.FIRST_COMPLETED)
            if not settled.done():
                return
            settled.result()
            node = cluster.node = self._node = RaftNode(
                self.config.core(cluster.identity.member),
                storage,
                self._machine,
                network.send,
                disk,
                contending=self._contending,
                clock=self._clock.monotonic,
                rng=self._rng,
            )
            node.on_change = self._changed
            # It may have changed on another thread while there was no node to tell.
            node.contend(self._contending)
            node.start()
            scope.start(cluster.run(), name="raft membership")
            await asyncio.wait((stopping, node.failed), return_when=asyncio.FIRST_COMPLETED)
            if node.failed.done():
                node.failed.result()
            await self._leave(node)

    async def _leave(self, node: RaftNode) -> None:
        """Hand over before ending; wait no longer than an election takes."""
        node.contend(False)
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * self.config.settings.core.election_max_s):
                async for _ in self.watch():
                    if not node.leads:
                        return

    # Leadership, readable from any thread

    @property
    def lease(self) -> Lease:
        node = self._node
        return node.lease if node is not None else Lease()

    @property
    def is_leader(self) -> bool:
        """Whether this node leads at this moment, surely."""
        return self._clock.monotonic() < self.lease.until

    @property
    def term(self) -> int:
        return self.lease.term

    @property
    def name(self) -> str:
        return self.config.located.name

    @property
    def leader(self) -> str:
        """The name of the node that leads as far as known; empty if none does."""
        cluster = self._cluster
        return cluster.name(self.lease.leader) if cluster is not None else ""

    async def watch(self) -> AsyncIterator[Lease]:
        """What is known of leadership: now, and whenever leader or term change."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        self._subscribers.add((loop, event))
        try:
            while True:
                event.clear()
                yield self.lease
                await event.wait()
        finally:
            self._subscribers.discard((loop, event))

    def _changed(self) -> None:
        """On the node's loop."""
        if self._cluster is not None:
            self._cluster.stir()
        self._tell()

    def _tell(self) -> None:
        for loop, event in tuple(self._subscribers):
            with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
                loop.call_soon_threadsafe(event.set)

    async def contend(self, contending: bool) -> None:
        """Whether this node may lead. Without contending it hands over and does not campaign."""
        self._contending = contending
        if self._node is not None:
            await self._do(lambda node: _now(node.contend, contending))

    async def transfer(self, to_node: int | None = None) -> None:
        """Hand leadership to a node, or to the one best prepared. Raises NotLeader elsewhere."""

        await self._do(lambda node: _now(hand_over, node, to_node))

    # The replicated state

    async def put(self, key: str, data: bytes, *, over: int | None = None) -> bool:
        """Write when a majority has it. With `over`, only over that version (0: only if it is not there);
        whether it was written. Only the leader can; others raise NotLeader."""
        return await self._propose(Put(key, data, over))

    async def delete(self, key: str, *, over: int | None = None) -> bool:
        return await self._propose(Delete(key, over))

    async def get(self, key: str, *, stale: bool = False) -> Value | None:
        """The value, as of now or later; with `stale`, as this node happens to know it."""
        if not stale:
            await self._do(lambda node: node.read())
        return self._machine.values.get(key)

    async def scale(self, size: int) -> None:
        """How many nodes the cluster shall have: nodes beyond are removed, one at a time. On the leader."""
        if size < 1:
            raise SettingsError("a cluster has at least one node")
        await self.put(SIZE_KEY, str(size).encode())
        await self._do(lambda _: _now(self._changed))

    @property
    def size(self) -> int | None:
        """What `scale` said last, as far as this node knows."""
        cluster = self._cluster
        return cluster.size() if cluster is not None else None

    async def snapshot(self) -> int:
        """Replace the log by the state now; the index up to which."""
        return await self._do(lambda node: _now(node.take_snapshot))

    async def _propose(self, command: Command) -> bool:
        node, home = self._node, self._loop
        if node is None or home is None:
            raise NodeStopped(self._failure or "the node does not belong to a cluster yet")
        bridge = self._bridges.get(caller := asyncio.get_running_loop())
        if bridge is None:
            bridge = self._bridges[caller] = Bridge(node, home)
        return bool(await bridge.propose(ClusterState.encode(command)))

    async def _do(self, action: Callable[[RaftNode], Coroutine[Any, Any, T]]) -> T:
        node, loop = self._node, self._loop
        if node is None or loop is None:
            raise NodeStopped(self._failure or "the node does not belong to a cluster yet")
        if asyncio.get_running_loop() is loop:
            return await action(node)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(action(node), loop))

    # Questions

    def trouble(self) -> str:
        return self._failure

    def unready(self) -> str:
        node = self._node
        if node is None:
            return "the node does not belong to a cluster yet"
        if node.id not in node.status().configuration.members:
            return "the node is not a member yet"
        return "" if node.lease.leader else "no leader is known"

    def measured(self) -> tuple[Status, NodeMetrics] | None:
        node = self._node
        return (node.status(), node.metrics) if node is not None else None

    async def status(self) -> Status:
        return await self._do(lambda node: _now(node.status))

    async def voters(self) -> Sequence[int]:
        """The numbers of the nodes that vote."""
        return sorted(node_of(member) for member in (await self.status()).configuration.voters)


async def _now(function: Callable[..., T], *arguments: Any) -> T:
    return function(*arguments)


def _grpc_network(config: NodeConfig, cluster: ClusterManager) -> Network:
    load_grpc()
    from steersman.raft.transport.grpc import RaftNetwork

    return RaftNetwork(
        config.listen_address(),
        cluster.hello,
        cluster.locate,
        config.settings.tls,
        Administration(cluster).obey,
        StateService(cluster),
    )
