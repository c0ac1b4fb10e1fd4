"""Requests, one kind after the other, on a server that keeps its data: CPU, memory, time to ready."""

from __future__ import annotations

import tempfile
from statistics import median

from benchmarks.load import CONFIGMAP, FIRST, LoadResult, run_wrk
from benchmarks.options import Options
from benchmarks.peer import peer
from benchmarks.process import ServerProcess
from benchmarks.reference import BAR, Peer
from benchmarks.table import Table

__all__ = ["run"]

_CONNECTIONS = 32
#: Answers to lists are tens of megabytes; with more connections they would only pile up.
_LIST_CONNECTIONS = 2


def run(options: Options) -> list[Table]:
    objects, requests, lists, starts = (2_000, 2_000, 20, 2) if options.quick else (20_000, 20_000, 60, 5)
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as folder:
        _start(f"{folder}/unmeasured")
        first = [_start(f"{folder}/{number}") for number in range(starts)]
        data = f"{folder}/load"
        other = peer(f"{folder}/peer", objects, requests, lists, _LIST_CONNECTIONS)
        with ServerProcess(data) as server:
            load, memory = _load(server, objects, requests, lists, other)
        again = [_start(data) for _ in range(starts)]
    memory.title = f"Memory and start, {objects:,} objects"
    if other.measured:
        load.notes.append("kube-apiserver with etcd was measured in the same run")
    ready, cpu = _medians(first)
    memory.add("ready, empty folder", ready, "s", peer=other.costs.ready_s, bar=BAR.ready_s)
    memory.add("ready, empty folder: CPU", cpu, "s")
    ready, cpu = _medians(again)
    memory.add(f"ready, {objects:,} objects", ready, "s")
    memory.add(f"ready, {objects:,} objects: CPU", cpu, "s")
    return [load, memory]


def _start(data: str) -> tuple[float, float]:
    """Seconds to ready, and CPU seconds used until then."""
    with ServerProcess(data) as server:
        return server.ready_s, server.cpu()


def _medians(starts: list[tuple[float, float]]) -> tuple[float, float]:
    return median(ready for ready, _ in starts), median(cpu for _, cpu in starts)


def _load(server: ServerProcess, objects: int, requests: int, lists: int, other: Peer) -> tuple[Table, Table]:
    costs, rates = other.costs, other.rates
    table = Table("Requests: 1 KB ConfigMaps, TLS, 32 connections, every write on disk")
    memory = Table("Memory")
    memory.add("after start", server.memory(), "MB")

    created = run_wrk(server, CONFIGMAP["create"], count=objects, connections=_CONNECTIONS)
    # The last of them were perhaps cut off when wrk stopped.
    highest = created.requests + FIRST - 1 - _CONNECTIONS
    _add(table, "create", created, costs.create_cpu_ms, BAR.create_cpu_ms, rates.creates)
    got = run_wrk(server, CONFIGMAP["get"], count=requests, existing=highest)
    _add(table, "get", got, costs.get_cpu_ms, BAR.get_cpu_ms, rates.gets)
    memory.add("after creates and gets", server.memory(), "MB", peer=costs.memory_mb, bar=BAR.memory_mb)

    listed = run_wrk(server, CONFIGMAP["list"], count=lists, connections=_LIST_CONNECTIONS)
    per_object_us = listed.server_cpu_s / listed.requests / created.requests * 1e6
    table.add("listed object: CPU", per_object_us, "µs",
              peer=costs.listed_object_cpu_us, bar=BAR.listed_object_cpu_us)  # fmt: skip
    comparable = objects >= other.listed_objects or other.measured
    table.add(f"list of {created.requests:,}: rate", listed.rate, "/s",
              peer=rates.lists if comparable else None, more_is_better=True)  # fmt: skip
    table.check(listed.failed == 0, f"{listed.failed} lists failed")
    memory.add("after lists", server.memory(), "MB")

    for kind in ("update", "patch"):
        _add(table, kind, run_wrk(server, CONFIGMAP[kind], count=requests // 2, existing=highest))
    memory.add("after updates and patches", server.memory(), "MB")
    _add(table, "delete", run_wrk(server, CONFIGMAP["delete"], count=requests // 4))
    return table, memory


def _add(
    table: Table,
    kind: str,
    result: LoadResult,
    peer_ms: float | None = None,
    bar_ms: float | None = None,
    peer_rate: float | None = None,
) -> None:
    table.add(f"{kind}: CPU", result.cpu_ms, "ms", peer=peer_ms, bar=bar_ms)
    table.add(f"{kind}: rate", result.rate, "/s", peer=peer_rate, more_is_better=True)
    table.add(f"{kind}: 99 % answered in", result.p99_ms, "ms")
    table.check(result.failed == 0, f"{result.failed} of {result.requests} {kind} requests")
