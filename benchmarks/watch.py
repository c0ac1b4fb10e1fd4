"""Fan-out: each created object goes to every watcher. What it costs the server, and how late it comes.

Two parts on the same open watches: creates as fast as they are answered (cost), and creates one at a time
(delay). Reading a thousand streams costs this process more than writing them costs the server, so the delay
is an upper bound: the last watcher's event waits until this process has read the others'.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time

import uvloop

from benchmarks.options import Options
from benchmarks.process import ServerProcess
from benchmarks.table import Table
from benchmarks.watchers import Watchers
from benchmarks.writing import CONFIGMAPS, Writer

__all__ = ["run"]

_WRITERS = 16
_TIMEOUT_S = 60.0


def run(options: Options) -> list[Table]:
    watchers, burst, single = (200, 100, 20) if options.quick else (1_000, 500, 100)
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as folder, ServerProcess(folder) as server:
        return [uvloop.run(_measure(server, watchers, burst, single))]


async def _measure(server: ServerProcess, count: int, burst: int, single: int) -> Table:
    table = Table(f"Watch: {count:,} watchers of 1 KB ConfigMaps, TLS")
    watchers = Watchers()
    async with Writer(server, _WRITERS) as writer:
        try:
            _, revision = await writer.list()
            memory, cpu = server.memory(), server.cpu()
            await watchers.open(server, f"{CONFIGMAPS}?watch=true&resourceVersion={revision}", count)
            table.add("opening a watch: CPU", (server.cpu() - cpu) / count * 1e3, "ms")
            table.add("memory of an open watch", (server.memory() - memory) / count * 1e3, "kB")
            await _burst(server, writer, watchers, burst, table)
            await _one_at_a_time(writer, watchers, burst, single, table)
            table.add("memory of the server", server.memory(), "MB")
        finally:
            watchers.close()
    _check(watchers, burst + single, table)
    return table


async def _burst(server: ServerProcess, writer: Writer, watchers: Watchers, count: int, table: Table) -> None:
    before, started = server.cpu(), time.perf_counter()
    names = iter(range(count))

    async def create() -> None:
        for number in names:
            await writer.create(f"burst-{number}")

    await asyncio.gather(*(create() for _ in range(_WRITERS)))
    table.check(await watchers.wait_for_lines(count, _TIMEOUT_S), "not every watcher got every event")
    used, seconds = server.cpu() - before, time.perf_counter() - started
    deliveries = sum(watcher.lines for watcher in watchers.all)
    table.add("delivery: CPU (with the creates)", used / deliveries * 1e6, "µs")
    table.add("deliveries per CPU second", deliveries / used, "/s", more_is_better=True)
    table.add("deliveries, all in all", deliveries / seconds, "/s", more_is_better=True)


async def _one_at_a_time(writer: Writer, watchers: Watchers, before: int, count: int, table: Table) -> None:
    """Each create waits until the last watcher has seen the one before: nothing queues."""
    for watcher in watchers.all:
        watcher.arrivals = []
    sent, answered = [], []
    for number in range(count):
        sent.append(time.perf_counter())
        await writer.create(f"single-{number}")
        answered.append(time.perf_counter())
        if not await watchers.wait_for_lines(before + number + 1, _TIMEOUT_S):
            table.check(False, "not every watcher got every event")
            return
    for label, since in (("from sending the create", sent), ("from its answer", answered)):
        delays = sorted(
            arrived - at
            for watcher in watchers.all
            for (arrived, _), at in zip(watcher.arrivals or (), since, strict=True)
        )
        for percent in (50, 99):
            table.add(f"delay {label}, {percent} %", delays[len(delays) * percent // 100] * 1e3, "ms")
    table.notes.append("a negative delay: the watchers have it before the writer has its answer")


def _check(watchers: Watchers, expected: int, table: Table) -> None:
    table.check(not watchers.disagreeing(), f"{watchers.disagreeing()} watchers saw something else")
    events = [json.loads(line) for line in watchers.events()]
    names = {event["object"]["metadata"]["name"] for event in events}
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    table.check(len(names) == len(events) == expected, f"{len(names)} different events of {expected}")
    table.check(revisions == sorted(set(revisions)), "events came out of order")
    table.check(all(event["type"] == "ADDED" for event in events), "an event was not ADDED")
