"""A cluster that lives: how soon its nodes are ready, what it costs when nothing happens, and how fast much
happens. Controllers, scheduler and simulated nodes run in the process of `steer up`; the figures are its own.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import uvloop

from benchmarks.following import Following, is_available, is_ready
from benchmarks.options import Options
from benchmarks.process import ServerProcess
from benchmarks.table import Table
from steersman.client import Client
from steersman.objects.resources import DEPLOYMENTS, NODES, PODS

__all__ = ["run"]

Object = dict[str, Any]

_NAMESPACE = "default"
_IDLE_S = 20.0
#: After this long nothing of starting is left to do.
_SETTLED_S = 5.0
_CREATORS = 16


@dataclass(frozen=True, slots=True)
class Size:
    starts: int = 5
    deployments: int = 500
    #: How many nodes so many Deployments are spread over.
    few_nodes: int = 10
    nodes: int = 1_000
    pods: int = 10_000


_QUICK = Size(starts=1, deployments=20, few_nodes=3, nodes=20, pods=200)


def run(options: Options) -> list[Table]:
    size = _QUICK if options.quick else Size()
    return [
        uvloop.run(_start(size)),
        uvloop.run(_deployments(size)),
        uvloop.run(_scale(size)),
    ]


async def _start(size: Size) -> Table:
    """From nothing to ready nodes; then nothing happens."""
    table = Table("Three nodes")
    times: list[float] = []
    for number in range(size.starts + 1):
        with (
            tempfile.TemporaryDirectory() as folder,
            ServerProcess(folder, "--nodes=3", "--runtime=simulated", living=True) as server,
        ):
            began = time.perf_counter() - server.ready_s
            async with Client.load(kubeconfig=server.kubeconfig) as client:
                ready = await _ready_nodes(client, 3)
            if number:  # the first leaves bytecode behind
                times.append(time.perf_counter() - began)
            table.check(ready, "the nodes are not ready")
            if number == size.starts:
                await _idle(table, server)
    table.add("from nothing to ready nodes", median(times), "s", bar=1.5)
    table.notes.append(f"the median of {size.starts} starts in an empty folder")
    return table


async def _idle(table: Table, server: ServerProcess) -> None:
    await asyncio.sleep(_SETTLED_S)
    cpu = server.cpu()
    await asyncio.sleep(_IDLE_S)
    table.add("idle: CPU", (server.cpu() - cpu) / _IDLE_S * 100, "% of a core", bar=2.0)
    table.add("idle: memory", server.memory(), "MB", bar=110.0)


async def _deployments(size: Size) -> Table:
    table = Table(f"{size.deployments:,} Deployments of one pod on {size.few_nodes} nodes")
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(folder, f"--nodes={size.few_nodes}", "--runtime=simulated", living=True) as server,
    ):
        async with Client.load(kubeconfig=server.kubeconfig) as client:
            table.check(await _ready_nodes(client, size.few_nodes), "the nodes are not ready")
            following = Following(client, DEPLOYMENTS, is_available)
            cpu, began = server.cpu(), time.perf_counter()
            done = await following.until(
                size.deployments,
                lambda: _create(client, [_deployment(f"web-{n}", 1) for n in range(size.deployments)]),
            )
            seconds = time.perf_counter() - began
            table.add("created to all available", seconds, "s", bar=15.0)
            table.add("CPU", (server.cpu() - cpu) / size.deployments * 1000, "ms/Deployment")
            table.add("memory", server.memory(), "MB")
            table.check(
                done == size.deployments, f"{size.deployments - done} Deployments did not become available"
            )
    return table


async def _scale(size: Size) -> Table:
    """Many nodes, with many pods of a hundred Deployments."""
    table = Table(f"{size.nodes:,} simulated nodes, {size.pods:,} pods")
    count = min(100, size.pods // 10)
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(folder, f"--nodes={size.nodes}", "--runtime=simulated", living=True) as server,
    ):
        async with Client.load(kubeconfig=server.kubeconfig) as client:
            began = time.perf_counter()
            table.check(await _ready_nodes(client, size.nodes), "not all nodes are ready")
            table.add("nodes ready after", time.perf_counter() - began + server.ready_s, "s")
            table.add("memory with the nodes alone", server.memory(), "MB")
            deployments = [_deployment(f"web-{n}", size.pods // count) for n in range(count)]
            following = Following(client, PODS, is_ready)
            cpu, began = server.cpu(), time.perf_counter()
            done = await following.until(size.pods, lambda: _create(client, deployments))
            seconds, used = time.perf_counter() - began, server.cpu() - cpu
            table.add("pods created to running", done / seconds, "pods/s", more_is_better=True)
            table.add("all of them after", seconds, "s")
            table.add("CPU", used / max(done, 1) * 1000, "ms/pod")
            table.check(done == size.pods, f"{size.pods - done} pods do not run")
        await asyncio.sleep(_SETTLED_S)
        cpu = server.cpu()
        await asyncio.sleep(_IDLE_S)
        table.add("idle: CPU", (server.cpu() - cpu) / _IDLE_S * 100, "% of a core")
        table.add("idle: memory", server.memory(), "MB")
    table.notes.append("a node renews its lease every ten seconds, which is what an idle cluster does")
    return table


async def _create(client: Client, objects: list[Object]) -> None:
    waiting = iter(objects)

    async def create() -> None:
        for item in waiting:
            await client.create(item, kind=DEPLOYMENTS)

    async with asyncio.TaskGroup() as creators:
        for _ in range(_CREATORS):
            creators.create_task(create())


async def _ready_nodes(client: Client, count: int) -> bool:
    return await Following(client, NODES, is_ready).until(count) == count


def _deployment(name: str, replicas: int) -> Object:
    labels = {"app": name}
    container = {
        "name": "app",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
    }
    return {
        "metadata": {"name": name, "namespace": _NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
