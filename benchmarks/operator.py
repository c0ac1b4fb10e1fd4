"""Operators at work: 1,000 custom resources, each with a child and a status, by Steersman and by kopf; with a
status alone, by Steersman and with the crate k8s-operator. And what a cache of 50,000 ConfigMaps weighs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import uvloop
import yaml

from benchmarks.contending import (
    WARM_UP,
    Contender,
    Figures,
    create,
    done,
    measure,
    prepare,
    running,
    server,
)
from benchmarks.load import CONFIGMAP, run_wrk
from benchmarks.options import Options
from benchmarks.process import ServerProcess, cpu_seconds, memory_mb
from benchmarks.programs.replicas import MyResource
from benchmarks.programs.things import Thing
from benchmarks.table import Table
from steersman.client import Client
from steersman.objects.builders import ConfigMap
from tests.originals.programs import NOT_INSTALLED, find

__all__ = ["run"]

_PROGRAMS = Path(__file__).with_name("programs")
_BIN = Path(sys.executable).parent

#: What this project asks of itself.
_CPU_MS = 0.6
_MEMORY_MB = 60.0
_CACHE_MB = 120.0


def _steer_run(program: str) -> tuple[str, ...]:
    return (str(_BIN / "steer"), "run", str(_PROGRAMS / program), "--metrics-bind", "off")


def _things(name: str, command: tuple[str, ...], group: str = Thing.definition.group) -> Contender:
    definition: dict[str, Any] = Thing.crd()
    definition["metadata"]["name"] = f"things.{group}"
    definition["spec"]["group"] = group
    return Contender(name, command, definition, {"value": "x" * 100}, "done")


_STEERSMAN = _things("steersman", _steer_run("things.py"))
_KOPF = _things(
    "kopf",
    (
        str(_BIN / "kopf"),
        "run",
        "--quiet",
        "--standalone",
        "--all-namespaces",
        str(_PROGRAMS / "kopf_things.py"),
    ),
    "kopf.bench.example.com",
)


def run(options: Options) -> list[Table]:
    things, cached = (100, 2_000) if options.quick else (1_000, 50_000)
    with server():
        table = Table(f"{things:,} custom resources, one child and one status each", peer_name="kopf")
        own, other = (uvloop.run(_measure(contender, things, table)) for contender in (_STEERSMAN, _KOPF))
    _add(table, own, other)
    with server() as one:
        return [table, *_beside_the_crate(things), _measure_cache(one, cached)]


def _add(table: Table, own: Figures, other: Figures) -> None:
    table.add("an object: CPU", own.cpu_ms, "ms", peer=other.cpu_ms, bar=_CPU_MS)
    table.add("memory", own.memory_mb, "MB", peer=other.memory_mb, bar=_MEMORY_MB)
    table.add("until all are done", own.seconds, "s", peer=other.seconds)


async def _measure(contender: Contender, count: int, table: Table) -> Figures:
    figures = await measure(contender, count)
    async with Client.load() as client:
        children = await client.list(ConfigMap)
    made = sum(child.name.endswith(f"-{contender.name}") for child in children)
    table.check(made == WARM_UP + count, f"{contender.name} made {made} children")
    return figures


def _beside_the_crate(count: int) -> list[Table]:
    """The same operator in Rust with the crate k8s-operator, where `make originals` has built it."""
    table = Table(f"{count:,} custom resources, one status each", peer_name="k8s-operator")
    program = find("small-operator")
    if program is None:
        table.notes.append(f"k8s-operator: {NOT_INSTALLED}")
        return [table]
    definition = yaml.safe_load(subprocess.check_output([str(program), "crd"], text=True))
    crate = Contender("k8s-operator", (str(program),), definition, {"replicas": 3}, "replicas")
    ours = MyResource.crd()
    steersman = Contender("steersman", _steer_run("replicas.py"), ours, {"replicas": 3}, "replicas")
    own, other = (uvloop.run(measure(contender, count)) for contender in (steersman, crate))
    table.add("an object: CPU", own.cpu_ms, "ms", peer=other.cpu_ms)
    table.add("memory", own.memory_mb, "MB", peer=other.memory_mb)
    table.add("until all are done", own.seconds, "s", peer=other.seconds)
    return [table]


def _measure_cache(one: ServerProcess, count: int) -> Table:
    """The same operator, which caches the ConfigMaps of the whole cluster."""
    uvloop.run(prepare(_STEERSMAN))
    loaded = run_wrk(one, CONFIGMAP["create"], count=count)
    table = Table(f"A cache of {loaded.requests:,} ConfigMaps of 1 KB")
    table.check(loaded.failed == 0, f"{loaded.failed} creates failed")
    with running(_STEERSMAN.command) as pid:
        uvloop.run(_synced())
        # What was needed to fill the cache is given back, or it counts.
        time.sleep(2)
        table.add("memory", memory_mb(pid), "MB", bar=_CACHE_MB)
        table.add("CPU until it is filled", cpu_seconds(pid), "s")
    return table


async def _synced() -> None:
    """Wait until the operator handles an object, which it does when its caches are filled."""
    async with Client.load() as client:
        await create(client, _STEERSMAN, "thing", 1)
        await done(client, _STEERSMAN, 1)
