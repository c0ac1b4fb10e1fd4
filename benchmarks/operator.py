"""Operators at work: 1,000 custom resources, each with a child and a status, by Steersman and by kopf.
And what a cache of 50,000 ConfigMaps weighs.

Each operator is a process of its own against the same server. It runs before there is anything to do and has
handled a few objects when measuring begins, so that neither starting nor loading code is in the figures.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.load import CONFIGMAP, run_wrk
from benchmarks.options import Options, Unusable
from benchmarks.process import ServerProcess, cpu_seconds, environment, memory_mb
from benchmarks.programs.things import Thing
from benchmarks.table import Table
from steersman.cli.installing import install
from steersman.client import Client
from steersman.objects.builders import ConfigMap
from steersman.objects.resource_type import ResourceType

__all__ = ["run"]

_PROGRAMS = Path(__file__).with_name("programs")
_BIN = Path(sys.executable).parent

#: What this project asks of itself.
_CPU_MS = 0.6
_MEMORY_MB = 60.0
_CACHE_MB = 120.0

_WARM_UP = 20
_CREATORS = 8
_POLL_S = 0.25
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    group: str
    command: tuple[str, ...]

    @property
    def resource(self) -> ResourceType:
        return ResourceType(self.group, "v1", "Thing", "things")

    def definition(self) -> dict[str, Any]:
        definition = Thing.crd()
        definition["metadata"]["name"] = f"things.{self.group}"
        definition["spec"]["group"] = self.group
        return definition


_STEERSMAN = Contender(
    "steersman",
    Thing.definition.group,
    (str(_BIN / "steer"), "run", str(_PROGRAMS / "things.py"), "--metrics-bind", "off"),
)
_KOPF = Contender(
    "kopf",
    "kopf.bench.example.com",
    (
        str(_BIN / "kopf"),
        "run",
        "--quiet",
        "--standalone",
        "--all-namespaces",
        str(_PROGRAMS / "kopf_things.py"),
    ),
)


@dataclass(slots=True)
class Figures:
    cpu_ms: float
    memory_mb: float
    seconds: float


def run(options: Options) -> list[Table]:
    things, cached = (100, 2_000) if options.quick else (1_000, 50_000)
    with _server():
        table = Table(f"{things:,} custom resources, one child and one status each", peer_name="kopf")
        own, other = (uvloop.run(_measure(contender, things, table)) for contender in (_STEERSMAN, _KOPF))
    table.add("an object: CPU", own.cpu_ms, "ms", peer=other.cpu_ms, bar=_CPU_MS)
    table.add("memory", own.memory_mb, "MB", peer=other.memory_mb, bar=_MEMORY_MB)
    table.add("until all are done", own.seconds, "s", peer=other.seconds)
    with _server() as server:
        return [table, _measure_cache(server, cached)]


@contextmanager
def _server() -> Iterator[ServerProcess]:
    """An empty server, the one that everybody here talks to."""
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as folder, ServerProcess(folder) as server:
        os.environ["KUBECONFIG"] = server.kubeconfig
        yield server


async def _measure(contender: Contender, count: int, table: Table) -> Figures:
    await _install(contender)
    async with Client.load() as client:
        with _running(contender.command) as pid:
            await _create(client, contender, "warm", _WARM_UP)
            await _done(client, contender, _WARM_UP)
            cpu, started = cpu_seconds(pid), time.perf_counter()
            await _create(client, contender, "thing", count)
            await _done(client, contender, _WARM_UP + count)
            seconds = time.perf_counter() - started
            used = cpu_seconds(pid) - cpu
            memory = memory_mb(pid)
        children = await client.list(ConfigMap)
        made = sum(child.name.endswith(f"-{contender.name}") for child in children)
        table.check(made == _WARM_UP + count, f"{contender.name} made {made} children")
    return Figures(used / count * 1e3, memory, seconds)


async def _create(client: Client, contender: Contender, prefix: str, count: int) -> None:
    numbers = iter(range(count))

    async def create() -> None:
        for number in numbers:
            await client.create(
                {
                    "apiVersion": f"{contender.group}/v1",
                    "kind": "Thing",
                    "metadata": {"name": f"{prefix}-{number}"},
                    "spec": {"value": "x" * 100},
                },
                kind=contender.resource,
            )

    async with asyncio.TaskGroup() as group:
        for _ in range(_CREATORS):
            group.create_task(create())


async def _done(client: Client, contender: Contender, count: int) -> None:
    """Wait until so many have their status, which is written last."""
    deadline = time.perf_counter() + _LIMIT_S
    done = 0
    while done < count:
        if time.perf_counter() > deadline:
            raise Unusable(f"{contender.name} has done {done} of {count} objects in {_LIMIT_S:.0f} s")
        await asyncio.sleep(_POLL_S)
        listed = await client.list(contender.resource)
        done = sum(bool(thing.get("status", {}).get("done")) for thing in listed)


def _measure_cache(server: ServerProcess, count: int) -> Table:
    """The same operator, which caches the ConfigMaps of the whole cluster."""
    uvloop.run(_install(_STEERSMAN))
    loaded = run_wrk(server, CONFIGMAP["create"], count=count)
    table = Table(f"A cache of {loaded.requests:,} ConfigMaps of 1 KB")
    table.check(loaded.failed == 0, f"{loaded.failed} creates failed")
    with _running(_STEERSMAN.command) as pid:
        uvloop.run(_synced())
        # What was needed to fill the cache is given back, or it counts.
        time.sleep(2)
        table.add("memory", memory_mb(pid), "MB", bar=_CACHE_MB)
        table.add("CPU until it is filled", cpu_seconds(pid), "s")
    return table


async def _install(contender: Contender) -> None:
    async with Client.load() as client:
        await install(client, [contender.definition()])


async def _synced() -> None:
    """Wait until the operator handles an object, which it does when its caches are filled."""
    async with Client.load() as client:
        await _create(client, _STEERSMAN, "thing", 1)
        await _done(client, _STEERSMAN, 1)


@contextmanager
def _running(command: tuple[str, ...]) -> Iterator[int]:
    """A process for the time of the block; its id."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, env={**environment(), "KUBECONFIG": os.environ["KUBECONFIG"]}, stdout=log, stderr=log
        )
        try:
            yield process.pid
            if process.poll() is not None:
                log.seek(0)
                raise Unusable(f"{command[0]} ended: {log.read().decode()[-500:]}")
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
