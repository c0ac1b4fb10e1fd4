"""Highlander at rest: many workloads of one tenant, and many tenants in one process.

Beside `steer up` with simulated nodes, whose own cost is not counted. The lock is a Lease, so renewals go
through the API too. A dashboard looks on for part of the time.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import uvloop
import yaml

from benchmarks.options import Options, Unusable
from benchmarks.process import ServerProcess, cpu_seconds, environment, memory_mb
from benchmarks.table import Table
from steersman.http import Client

__all__ = ["run"]

Object = dict[str, Any]

_KINDS = ("processes", "services", "cronJobs", "persistentSets")
_SETTLED_S = 10.0
_PATIENCE_S = 600.0
_STOP_S = 120.0


def run(options: Options) -> list[Table]:
    workloads, tenants, idle_s = (12, 3, 3.0) if options.quick else (500, 50, 20.0)
    return [
        uvloop.run(_measure(f"{workloads} workloads of one tenant", [_tenant("all", workloads)], idle_s)),
        uvloop.run(
            _measure(
                f"{tenants} tenants of 4 workloads in one process",
                [_tenant(f"tenant-{number}", 4) for number in range(tenants)],
                idle_s,
            )
        ),
    ]


def _tenant(name: str, count: int) -> Object:
    """All kinds in turn."""
    workloads: dict[str, list[Object]] = {kind: [] for kind in _KINDS}
    for number in range(count):
        kind = _KINDS[number % len(_KINDS)]
        workload = {"name": f"{name}-{number}", "image": "app", "command": ["run"]}
        if kind == "cronJobs":
            workload["schedule"] = "0 0 1 1 *"
        workloads[kind].append(workload)
    return {"tenant": name, "workloads": workloads}


async def _measure(title: str, tenants: list[Object], idle_s: float) -> Table:
    table = Table(f"Highlander: {title}")
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(folder, "--nodes=10", "--runtime=simulated", living=True) as server,
    ):
        file = Path(folder, "highlander.yaml")
        common = {"port": 0, "storageType": "lease", "cluster": {"kubeconfig": str(server.kubeconfig)}}
        file.write_text(yaml.safe_dump({**common, "tenants": tenants}))
        async with _started(file) as (pid, client):
            began = time.perf_counter()
            wanted = sum(len(group) for tenant in tenants for group in tenant["workloads"].values())
            table.check(await _all_run(client, wanted), "not all workloads run")
            table.add("until all run", time.perf_counter() - began, "s")
            await asyncio.sleep(_SETTLED_S)
            table.add("idle: CPU", await _cpu(pid, idle_s), "% of a core", bar=3.0)
            async with client.stream("GET", "/api/events"):
                table.add("idle, with a dashboard open: CPU", await _cpu(pid, idle_s), "% of a core")
            began = time.perf_counter()
            scraped = await client.request("GET", "/metrics")
            table.add("a scrape", 1000 * (time.perf_counter() - began), "ms")
            table.add("its size", len(scraped.content) / 1e3, "kB")
            table.add("memory", memory_mb(pid), "MB", bar=120.0)
    return table


async def _cpu(pid: int, seconds: float) -> float:
    before, began = cpu_seconds(pid), time.perf_counter()
    await asyncio.sleep(seconds)
    return 100 * (cpu_seconds(pid) - before) / (time.perf_counter() - began)


async def _all_run(client: Client, wanted: int) -> bool:
    deadline = time.perf_counter() + _PATIENCE_S
    while time.perf_counter() < deadline:
        answer = await client.request("GET", "/api/tenants")
        healthy = sum(tenant["healthy"] for tenant in orjson.loads(answer.content)["data"])
        if healthy == wanted:
            return True
        await asyncio.sleep(1.0)
    return False


@asynccontextmanager
async def _started(file: Path) -> AsyncIterator[tuple[int, Client]]:
    """`steer highlander` with that file, and a client to it."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "steersman.cli",
                "highlander",
                "run",
                "--config",
                file,
                "--log-level=error",
            ],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(),
        )
        try:
            assert process.stdout is not None
            line = await asyncio.to_thread(process.stdout.readline)
            port = re.search(rb"port (\d+)", line)
            if port is None:
                errors.seek(0)
                raise Unusable(f"steer highlander did not start: {errors.read().decode()}")
            async with Client(f"http://127.0.0.1:{int(port[1])}") as client:
                yield process.pid, client
        finally:
            process.kill()
            process.wait(_STOP_S)
            if process.stdout is not None:
                process.stdout.close()
