"""Scheduling: how many pods a second get a node, API calls included, by the number of nodes and kind of pod.

API server, scheduler and whoever creates the pods share one process, and speak through the API. Clocked is
from the first creation to the last binding; a pod costs a create, a binding and an event.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.options import Options
from benchmarks.table import Table
from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.scheduler import add_scheduler
from steersman.objects.resources import NODES, PODS, PRIORITY_CLASSES, SERVICE_ACCOUNTS
from steersman.runtime import Manager

__all__ = ["run"]

Object = dict[str, Any]

_NODES = (100, 1000, 5000)
_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_ZONES = 3
_PATIENCE_S = 120.0
_IDLE_S = 5.0


def _far(key: str) -> Object:
    return {"podAntiAffinity": _required(key)}


def _near(key: str) -> Object:
    return {"podAffinity": _required(key)}


def _required(key: str) -> Object:
    term = {"labelSelector": {"matchLabels": {"app": "bench"}}, "topologyKey": key}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


_SPREAD = {
    "maxSkew": 5,
    "topologyKey": _ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "bench"}},
}


@dataclass(frozen=True, slots=True)
class Mix:
    """A kind of pod, and what this project asks for at 5,000 nodes."""

    name: str
    spec: Object
    cpu: str = "100m"
    bar: float | None = None
    #: kube-scheduler's with kube-apiserver, on the same two cores at 5,000 nodes.
    peer: float | None = None
    #: At most one of these pods fits on a node.
    alone: bool = False
    #: Every node is full of less important pods.
    full: bool = False


_MIXES = (
    Mix("basic", {}, bar=400, peer=220),
    Mix("spread", {"topologySpreadConstraints": [_SPREAD]}, bar=250),
    Mix("anti-affinity", {"affinity": _far(_HOSTNAME)}, bar=150, alone=True),
    Mix("affinity", {"affinity": _near(_ZONE)}, bar=70),
    Mix("preemption", {"priorityClassName": "high"}, cpu="3", alone=True, full=True),
)


def run(options: Options) -> list[Table]:
    sizes = (100,) if options.quick else _NODES
    return [_measured(_measure(nodes, options.quick)) for nodes in sizes]


def _measured(measuring: Coroutine[Any, Any, Table]) -> Table:
    import uvloop

    table: Table = uvloop.run(measuring)
    return table


async def _measure(nodes: int, quick: bool) -> Table:
    table = Table(f"scheduling among {nodes:,} nodes")
    for mix in _MIXES:
        pods = min(100 if quick else 2000, nodes // 2 if mix.alone else nodes * 10)
        async with _cluster(nodes, mix) as (client, manager):
            began, cpu = time.perf_counter(), time.process_time()
            bound = await _schedule(client, manager, mix, pods)
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            at_scale = nodes == max(_NODES)
            table.add(
                mix.name,
                bound / seconds,
                "pods/s",
                bar=mix.bar if at_scale else None,
                peer=mix.peer if at_scale else None,
                more_is_better=True,
            )
            table.add(f"{mix.name}: CPU", cpu / max(bound, 1) * 1000, "ms/pod")
            table.check(bound == pods, f"{mix.name}: {pods - bound} of {pods} pods have no node")
            if mix.name == "basic":
                table.add("then idle", await _idle(), "% CPU", bar=2.0)
    table.notes.append("one process does it all: creating pods, the API server, the scheduler")
    return table


async def _idle() -> float:
    before = time.process_time()
    await asyncio.sleep(_IDLE_S)
    return (time.process_time() - before) / _IDLE_S * 100


@asynccontextmanager
async def _cluster(nodes: int, mix: Mix) -> AsyncIterator[tuple[Client, Manager]]:
    """A cluster whose nodes are ready, with a scheduler that knows them."""
    config = ClusterConfig(controllers=(), disabled_admission=("TaintNodesByCondition",))
    async with LocalCluster(config) as cluster:
        client = cluster.client()
        await client.create({"metadata": {"name": "default", "namespace": "default"}}, kind=SERVICE_ACCOUNTS)
        for name, value in (("low", 1), ("high", 1000)):
            await client.create({"metadata": {"name": name}, "value": value}, kind=PRIORITY_CLASSES)
        for number in range(nodes):
            await client.create(_node(f"node-{number}", f"zone-{number % _ZONES}"), kind=NODES)
            if mix.full:
                low = {"priorityClassName": "low", "nodeName": f"node-{number}"}
                await client.create(_pod(f"low-{number}", "3600m", low), kind=PODS)
        manager = Manager(cluster.client(), address=None)
        add_scheduler(manager)
        running = asyncio.create_task(manager.run())
        try:
            await _until(lambda: manager.is_leader and all(each.synced for each in manager.informers))
            yield client, manager
        finally:
            manager.stop()
            await running


async def _schedule(client: Client, manager: Manager, mix: Mix, pods: int) -> int:
    """How many pods have a node in the end."""
    bound: set[str] = set()

    def on_change(change: Any) -> None:
        if (
            change.new is not None
            and change.key.name.startswith("pod-")
            and b'"nodeName":"' in change.new.data
        ):
            bound.add(change.key.name)

    manager.informers.get(PODS).add_handler(on_change)
    for number in range(pods):
        await client.create(_pod(f"pod-{number}", mix.cpu, mix.spec), kind=PODS)
    await _until(lambda: len(bound) == pods)
    return len(bound)


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + _PATIENCE_S
    while not holds() and time.perf_counter() < deadline:
        await asyncio.sleep(0.01)


def _node(name: str, zone: str) -> Object:
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    metadata = {"name": name, "labels": {_HOSTNAME: name, _ZONE: zone}}
    return {"metadata": metadata, "status": {"allocatable": amounts, "capacity": amounts}}


def _pod(name: str, cpu: str, spec: Object) -> Object:
    requests = {"cpu": cpu, "memory": "500Mi"}
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    return {
        "metadata": {"name": name, "labels": {"app": "bench"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }
