"""One operator after the other at the same work: custom resources are created, each is handled, and what that
cost the operator's process is measured.

It runs before there is anything to do and has handled a few objects when measuring begins, so that neither
starting nor loading code is in the figures.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.options import Unusable
from benchmarks.process import ServerProcess, cpu_seconds, environment, memory_mb
from steersman.cli.installing import install
from steersman.client import Client
from steersman.objects.resource_type import ResourceType

__all__ = ["WARM_UP", "Contender", "Figures", "create", "done", "measure", "prepare", "running", "server"]

WARM_UP = 20
_CREATORS = 8
_POLL_S = 0.25
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    command: tuple[str, ...]
    #: Of the custom resource that it handles.
    definition: Mapping[str, Any]
    spec: Mapping[str, Any]
    #: The field of the status that is written when an object has been handled.
    done_field: str

    @property
    def resource(self) -> ResourceType:
        spec = self.definition["spec"]
        kind, plural = spec["names"]["kind"], spec["names"]["plural"]
        version = spec["versions"][0]["name"]
        return ResourceType(spec["group"], version, kind, plural, spec["scope"] == "Namespaced")


@dataclass(slots=True)
class Figures:
    cpu_ms: float
    memory_mb: float
    seconds: float


@contextmanager
def server() -> Iterator[ServerProcess]:
    """An empty server, the one that everybody here talks to."""
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as folder, ServerProcess(folder) as server:
        os.environ["KUBECONFIG"] = server.kubeconfig
        yield server


async def measure(contender: Contender, count: int) -> Figures:
    await prepare(contender)
    async with Client.load() as client:
        with running(contender.command) as pid:
            await create(client, contender, "warm", WARM_UP)
            await done(client, contender, WARM_UP)
            cpu, started = cpu_seconds(pid), time.perf_counter()
            await create(client, contender, "thing", count)
            await done(client, contender, WARM_UP + count)
            seconds = time.perf_counter() - started
            used = cpu_seconds(pid) - cpu
            memory = memory_mb(pid)
    return Figures(used / count * 1e3, memory, seconds)


async def prepare(contender: Contender) -> None:
    async with Client.load() as client:
        await install(client, [dict(contender.definition)])


async def create(client: Client, contender: Contender, prefix: str, count: int) -> None:
    numbers = iter(range(count))
    resource = contender.resource

    async def some() -> None:
        for number in numbers:
            await client.create(
                {
                    "apiVersion": f"{resource.group}/{resource.version}",
                    "kind": resource.kind,
                    "metadata": {"name": f"{prefix}-{number}"},
                    "spec": dict(contender.spec),
                },
                kind=resource,
            )

    async with asyncio.TaskGroup() as group:
        for _ in range(_CREATORS):
            group.create_task(some())


async def done(client: Client, contender: Contender, count: int) -> None:
    """Wait until so many have their status, which is written last."""
    deadline = time.perf_counter() + _LIMIT_S
    handled = 0
    while handled < count:
        if time.perf_counter() > deadline:
            raise Unusable(f"{contender.name} has done {handled} of {count} objects in {_LIMIT_S:.0f} s")
        await asyncio.sleep(_POLL_S)
        listed = await client.list(contender.resource)
        handled = sum(bool(thing.get("status", {}).get(contender.done_field)) for thing in listed)


@contextmanager
def running(command: tuple[str, ...]) -> Iterator[int]:
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
