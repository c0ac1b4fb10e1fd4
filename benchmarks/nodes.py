"""Nodes that really run pods: how soon a Deployment's pod is ready, and a hundred pods; what the agent needs.

Containers run `sleep`; the readiness probe runs `true` in them. `steer up` has everything in one process;
memory is that of a `steer component nodes` beside it, so that nothing else is in it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import uvloop

from benchmarks.following import Following, is_ready
from benchmarks.options import Options
from benchmarks.process import ServerProcess, cpu_seconds, environment, memory_mb
from benchmarks.table import Table
from steersman.client import Client
from steersman.client.watching import WatchEvents
from steersman.cluster.machine import open_machine
from steersman.objects.resources import DEPLOYMENTS, NODES, PODS, SERVICE_ACCOUNTS

__all__ = ["run"]

Object = dict[str, Any]

_NAMESPACE = "default"
_LIMIT_S = 120.0
#: After this long nothing of starting is left to do.
_SETTLED_S = 3.0
_STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class Size:
    starts: int = 5
    runs: int = 50
    pods: int = 100


_QUICK = Size(starts=1, runs=5, pods=10)


def run(options: Options) -> list[Table]:
    size = _QUICK if options.quick else Size()
    return [uvloop.run(_start(size)), uvloop.run(_one_by_one(size)), uvloop.run(_many(size))]


async def _start(size: Size) -> Table:
    table = Table("One node")
    times: list[float] = []
    for number in range(size.starts + 1):
        began = time.perf_counter()
        with (
            tempfile.TemporaryDirectory() as folder,
            ServerProcess(folder, "--nodes=1", "--runtime=process", living=True) as server,
        ):
            async with Client.load(kubeconfig=server.kubeconfig) as client:
                ready = await Following(client, NODES, is_ready).until(1)
            if number:  # the first leaves bytecode behind
                times.append(time.perf_counter() - began)
            table.check(ready == 1, "the node is not ready")
    table.add("from nothing to a ready node", median(times), "s")
    table.notes.append(f"the median of {size.starts} starts in an empty folder")
    return table


async def _one_by_one(size: Size) -> Table:
    table = Table(f"A Deployment of one pod, {size.runs} times")
    kinds = {
        "created to ready": (_container("sleep", "1000"), 150.0),
        "with a readiness probe": (_probed(), None),
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(folder, "--nodes=1", "--runtime=process", living=True) as server,
    ):
        async with Client.load(kubeconfig=server.kubeconfig) as client:
            await _ready(client, table)
            for what, (container, bar) in kinds.items():
                times = [1000 * took for took in await _times(client, container, size.runs)]
                table.add(f"{what}: p50", median(times), "ms")
                table.add(f"{what}: p99", quantiles(times, n=100)[98], "ms", bar=bar)
    table.notes.append("until a watcher sees the pod Ready; one at a time, the one before is gone")
    return table


async def _times(client: Client, container: Object, runs: int) -> list[float]:
    """How long each took; the first is not counted, since much is loaded with it."""
    times = []
    version = (await client.list(PODS)).resource_version
    async with asyncio.timeout(_LIMIT_S), client.watch(PODS, resource_version=version) as events:
        for number in range(runs + 1):
            name = f"one-{number}"
            began = time.perf_counter()
            await client.create(_deployment(name, 1, container), kind=DEPLOYMENTS)
            async for pod, deleted in _pods(events, name):
                if is_ready(pod) and not deleted:
                    break
            times.append(time.perf_counter() - began)
            await client.delete(DEPLOYMENTS, name, _NAMESPACE)
            async for _, deleted in _pods(events, name):
                if deleted:
                    break
    return times[1:]


async def _pods(events: WatchEvents, app: str) -> AsyncIterator[tuple[Object, bool]]:
    async for event in events:
        if event.type in ("ADDED", "MODIFIED", "DELETED"):
            pod = event.decode()
            if pod["metadata"]["labels"].get("app") == app:
                yield pod, event.type == "DELETED"


async def _many(size: Size) -> Table:
    table = Table(f"{size.pods} pods of one Deployment on one node")
    cidr = await _free_range()
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(f"{folder}/api", "--nodes=0", f"--service-cidr={cidr}", living=True) as server,
        _agent(server, f"{folder}/nodes", cidr) as agent,
    ):
        async with Client.load(kubeconfig=server.kubeconfig) as client:
            await _ready(client, table)
            await _times(client, _container("sleep", "1000"), 1)
            await asyncio.sleep(_SETTLED_S)
            memory, cpu, server_cpu = memory_mb(agent), cpu_seconds(agent), server.cpu()
            deployment = _deployment("many", size.pods, _container("sleep", "1000"))

            async def begin() -> None:
                await client.create(deployment, kind=DEPLOYMENTS)

            began = time.perf_counter()
            found = await Following(client, PODS, is_ready).until(size.pods, begin)
            table.add("created to all ready", time.perf_counter() - began, "s", bar=10.0)
            table.check(found == size.pods, f"{size.pods - found} pods did not become ready")
            await asyncio.sleep(_SETTLED_S)
            table.add("CPU of the agent", (cpu_seconds(agent) - cpu) / size.pods * 1000, "ms/pod")
            table.add("CPU of everything else", (server.cpu() - server_cpu) / size.pods * 1000, "ms/pod")
            table.add("memory of the agent", (memory_mb(agent) - memory) / size.pods, "MB/pod", bar=1.0)
            table.add("memory of the agent without pods", memory, "MB")
            await client.delete(DEPLOYMENTS, "many", _NAMESPACE)
            await _gone(client, table)
    return table


async def _ready(client: Client, table: Table) -> None:
    """A node that is ready, and the account that pods are run as."""
    table.check(await Following(client, NODES, is_ready).until(1) == 1, "the node is not ready")
    await Following(client, SERVICE_ACCOUNTS, lambda one: one["metadata"]["name"] == "default").until(1)


async def _gone(client: Client, table: Table) -> None:
    """Nothing may run on when the benchmark has ended."""
    deadline = time.perf_counter() + _LIMIT_S
    while list(await client.list(PODS)):
        if time.perf_counter() > deadline:
            table.check(False, "pods are left")
            return
        await asyncio.sleep(0.1)


async def _free_range() -> str:
    machine = await open_machine()
    cidr = str(machine.ranges.services)
    await machine.close()
    return cidr


@contextmanager
def _agent(server: ServerProcess, folder: str, cidr: str) -> Iterator[int]:
    """Which process is the agent."""
    steer = str(Path(sys.executable).parent / "steer")
    command = [steer, "component", "nodes", "--kubeconfig", server.kubeconfig, "--data", folder,
               "--service-cidr", cidr, "--log-level", "error"]  # fmt: skip
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _container(program: str, *arguments: str, **more: Any) -> Object:
    return {"name": "app", "image": f"host/{program}", "args": list(arguments), **more}


def _probed() -> Object:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    return _container("sleep", "1000", readinessProbe=probe)


def _deployment(name: str, replicas: int, container: Object) -> Object:
    labels = {"app": name}
    return {
        "metadata": {"name": name, "namespace": _NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
            },
        },
    }
