"""The service proxy beside a direct connection: throughput, requests, added latency; what it needs of memory.

Sender, receiver and the forwarder are processes of their own; direct and proxied runs take turns, and the
median of some is taken. Where there are fewer CPUs than processes they share them, which costs the proxied
run more than the direct one.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.options import Options
from benchmarks.process import cpu_seconds, memory_mb
from benchmarks.table import Table
from steersman.aio import Scope
from steersman.cluster.machine import open_machine
from steersman.cluster.proxy.frontends import Backend, Frontend, FrontendRoute
from steersman.cluster.proxy.process import ForwarderProcess

__all__ = ["run"]

_HOST = "127.0.0.1"
_PROGRAM = [sys.executable, str(Path(__file__).parent / "programs" / "traffic.py")]
_THROUGHPUT_BAR = 0.6
_START_S = 20.0


def run(options: Options) -> list[Table]:
    return asyncio.run(_run(options))


async def _run(options: Options) -> list[Table]:
    forwarder = ForwarderProcess()
    machine = await open_machine(as_root=False)
    try:
        async with Scope() as scope:
            running = scope.start(forwarder.run())
            with _served() as ports:
                frontends = {name: Frontend("TCP", _HOST, _free_port()) for name in ports}
                routes = {
                    frontends[name]: FrontendRoute((Backend(_HOST, port),)) for name, port in ports.items()
                }
                await forwarder.apply(routes)
                carried = await _carried(forwarder, ports, frontends, options)
                tables = [carried, await _held(forwarder, options)]
                addresses = [str(machine.ranges.services[number]) for number in range(1, 1001)]
                tables.append(await _listened(forwarder, addresses, ports["echo"], options))
            running.cancel()
            return tables
    finally:
        await machine.close()


async def _carried(
    forwarder: ForwarderProcess, ports: dict[str, int], frontends: dict[str, Frontend], options: Options
) -> Table:
    table = Table("Connections through the proxy, and direct ones", peer_name="direct")
    seconds, times = (0.5, 1) if options.quick else (2.0, 5)
    for what, sort, arguments in (
        ("one stream", "send", ()),
        ("64 bytes there and back, one connection", "ask", ("1",)),
        ("64 bytes there and back, 16 connections", "ask", ("16",)),
        ("a connection for each 64 bytes", "connect", ()),
    ):
        port = "sink" if sort == "send" else "echo"
        runs: dict[str, list[dict[str, float]]] = {"direct": [], "proxied": []}
        for _ in range(times):
            runs["direct"].append(await _traffic(sort, ports[port], seconds, *arguments))
            before = _cpu(forwarder)
            figures = await _traffic(sort, frontends[port].port, seconds, *arguments)
            count = seconds * figures["mb_per_s" if sort == "send" else "per_s"]
            runs["proxied"].append({**figures, "cpu_us": (_cpu(forwarder) - before) / count * 1e6})
        direct, proxied = _medians(runs["direct"]), _medians(runs["proxied"])
        if sort == "send":
            table.add(what, proxied["mb_per_s"], "MB/s", peer=direct["mb_per_s"], more_is_better=True)
            share = proxied["mb_per_s"] / direct["mb_per_s"]
            table.add("  of a direct one", share, "times", bar=_THROUGHPUT_BAR, more_is_better=True)
            table.add("  the forwarder's CPU for each MB", proxied["cpu_us"], "µs")
            continue
        table.add(what, proxied["per_s"], "per s", peer=direct["per_s"], more_is_better=True)
        for figure in ("p50_us", "p99_us"):
            name = f"  added latency {figure[:3]}"
            table.add(name, max(proxied[figure] - direct[figure], 0.0), "µs")
        table.add("  the forwarder's CPU for each", proxied["cpu_us"], "µs")
    return table


async def _held(forwarder: ForwarderProcess, options: Options) -> Table:
    """What a connection costs that is open and says nothing."""
    table = Table("Connections that are open")
    count = 200 if options.quick else 1000
    listener = socket.create_server((_HOST, 0), backlog=count)
    frontend = Frontend("TCP", _HOST, _free_port())
    await forwarder.apply({frontend: FrontendRoute((Backend(_HOST, listener.getsockname()[1]),))})
    before, opened = _memory(forwarder), []
    try:
        for _ in range(count):
            opened.append(socket.create_connection((_HOST, frontend.port)))
            opened.append((await asyncio.to_thread(listener.accept))[0])
        table.add("memory of the forwarder for each", (_memory(forwarder) - before) * 1e3 / count, "KB")
        table.add("descriptors for each", (_descriptors(forwarder) - 10) // count, "")
    finally:
        for sock in (*opened, listener):
            sock.close()
    return table


async def _listened(forwarder: ForwarderProcess, addresses: list[str], port: int, options: Options) -> Table:
    """What 1,000 services cost that nobody asks."""
    table = Table("Services that listen")
    before, listened = _memory(forwarder), _free_port()
    route = FrontendRoute((Backend(_HOST, port), Backend("127.0.0.2", port)))
    started = time.perf_counter()
    await forwarder.apply({Frontend("TCP", address, listened): route for address in addresses})
    table.add("time to open 1,000", (time.perf_counter() - started) * 1e3, "ms")
    table.add("memory of 1,000", _memory(forwarder) - before, "MB")
    answer = await _traffic("ask", listened, 0.2, "1", address=addresses[-1])
    table.check(answer["per_s"] > 0, "the last of them does not answer")
    table.add("memory of the forwarder as a whole", _memory(forwarder), "MB")
    return table


def _cpu(forwarder: ForwarderProcess) -> float:
    assert forwarder.pid is not None
    return cpu_seconds(forwarder.pid)


def _memory(forwarder: ForwarderProcess) -> float:
    assert forwarder.pid is not None
    return memory_mb(forwarder.pid)


def _descriptors(forwarder: ForwarderProcess) -> int:
    return len(list(Path(f"/proc/{forwarder.pid}/fd").iterdir()))


async def _traffic(
    sort: str, port: int, seconds: float, *arguments: str, address: str = _HOST
) -> dict[str, float]:
    command = [*_PROGRAM, sort, address, str(port), str(seconds), *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    output, _ = await asyncio.wait_for(process.communicate(), seconds + _START_S)
    figures: dict[str, float] = json.loads(output)
    return figures


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: median(figures[name] for figures in runs) for name in runs[0]}


@contextmanager
def _served() -> Iterator[dict[str, int]]:
    command = [*_PROGRAM, "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait()


def _free_port() -> int:
    with socket.create_server((_HOST, 0)) as sock:
        port: int = sock.getsockname()[1]
        return port
