"""A cluster with one node that runs real processes, in a thread of the test's own process.

Its pods say themselves on which node they are (`NODE`): nobody schedules. Containers get their command, their
arguments and nothing else.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steersman.aio import Scope
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.machine.pod_addresses import PodAddresses
from steersman.cluster.metrics_api import add_metrics_api
from steersman.cluster.node import Nodes
from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.api import NodeApi
from steersman.cluster.node.cri import ContainerEvent, PodRuntime
from steersman.cluster.node.health import HEALTHY, Health
from steersman.cluster.node.hooks import SleepingHooks
from steersman.cluster.node.preparation import Nothing, Prepared
from steersman.cluster.node.process.assembly import (
    NodeParts,
    ProcessNodeConfig,
    add_process_node,
)
from steersman.cluster.node.stats import NodeStats
from steersman.http import server_tls
from steersman.objects.resources import NODES
from steersman.runtime import Manager
from steersman.testing import eventually

__all__ = ["NODE", "process_cluster"]

NODE = "worker"
_START_S = 60.0


class _Loopback:
    """Addresses of the loopback device are there without being asked for."""

    async def add(self, address: str, owner: str = "") -> None:
        return None

    async def remove(self, address: str, owner: str = "") -> None:
        return None


class _Plain(Nothing):
    async def container(
        self, pod: Mapping[str, Any], container: Mapping[str, Any], ips: Sequence[str]
    ) -> Prepared:
        return Prepared(tuple(container.get("command") or ()), tuple(container.get("args") or ()))


class _Healthy:
    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        return None

    def health(self, pod: Mapping[str, Any], runtime: PodRuntime) -> Mapping[str, Health]:
        return {one.id: HEALTHY for one in runtime.running()}

    def ended(self, uid: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _Services:
    preparation: _Plain
    prober: _Healthy
    hooks: SleepingHooks


@contextmanager
def process_cluster(folder: Path) -> Iterator[Path]:
    """The kubeconfig of a cluster that runs as long as the context."""
    started = threading.Event()
    problems: list[BaseException] = []
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    def run() -> None:
        try:
            loop.run_until_complete(_run(folder, started.set, stopping))
            loop.run_until_complete(loop.shutdown_default_executor())
        except BaseException as error:  # noqa: BLE001 - shown by the test
            problems.append(error)
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=run, name="process cluster")
    thread.start()
    try:
        assert started.wait(_START_S)
        if problems:
            raise problems[0]
        yield folder / "kubeconfig"
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stopping.set)
        thread.join()
    if problems:
        raise problems[0]


async def _run(folder: Path, started: Callable[[], None], stopping: asyncio.Event) -> None:
    config = ClusterConfig(
        controllers=(),
        disabled_admission=("ServiceAccount",),
        kubeconfig=folder / "kubeconfig",
        loopback_endpoints=True,
    )
    async with LocalCluster(config) as cluster, Scope() as scope:
        authority = cluster.authority
        manager = Manager(cluster.client(user_agent="kubelet"), address=None)
        nodes = Nodes(manager)
        pair = authority.issue(f"system:node:{NODE}", names=["127.0.0.1", NODE], server=True)
        agents: dict[str, NodeAgent] = {}
        api = NodeApi(
            agents,
            client=cluster.client(),
            client_ca=authority.pem,
            tls=lambda: server_tls(pair.certificate, pair.key, authority.pem),
        )
        port = await api.start()
        try:
            agents[NODE] = _add_node(nodes, folder, port)
            manager.add_service("nodes", nodes.run)
            add_metrics_api(manager, NodeStats(nodes))
            running = scope.start(manager.run())
            client = cluster.client()
            await eventually(lambda: client.find(NODES, NODE), _START_S)
            started()
            await stopping.wait()
            manager.stop()
            await running
        finally:
            await api.stop()


def _add_node(nodes: Nodes, folder: Path, port: int) -> NodeAgent:
    node = ProcessNodeConfig(
        NODE,
        folder / "node",
        "127.0.0.1",
        folder / "images.json",
        port=port,
        stop_pods=lambda: True,
    )
    addresses = PodAddresses(_Loopback(), f"127.{random.randrange(100, 200)}.{random.randrange(256)}.0/24")

    def services(_: NodeParts) -> _Services:
        return _Services(_Plain(), _Healthy(), SleepingHooks(nodes.manager.clock))

    return add_process_node(nodes, node, addresses, services)
