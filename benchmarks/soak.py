"""Minutes of creates, updates and deletes at a steady rate under watch: does anything grow or get lost?

The server keeps a bounded history, by age and by size, and memory grows until that is full. From then on it
must be flat: the mean of the minute after that is compared with the mean of the last minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from dataclasses import dataclass
from statistics import fmean, linear_regression

import uvloop

from benchmarks.churn import Churn, differences
from benchmarks.load import CONFIGMAP, run_wrk
from benchmarks.options import Options
from benchmarks.process import ServerProcess
from benchmarks.table import Table
from benchmarks.watchers import Watchers
from benchmarks.writing import CONFIGMAPS, Writer

__all__ = ["run"]

_SAMPLE_EVERY_S = 2.0
_CATCH_UP_S = 60.0
#: Growth from the one compared minute to the other that is the allocator's noise, not a leak.
_NOISE = 0.03


@dataclass(frozen=True, slots=True)
class Size:
    objects: int
    watchers: int
    seconds: float
    writes_per_s: float
    #: How long the two spans are whose memory is compared.
    compared_s: float


@dataclass(frozen=True, slots=True)
class Sample:
    at_s: float
    memory_mb: float


class Sampling:
    """The server's memory over time, and when its history was full: when it has forgotten `revision`."""

    def __init__(self, server: ServerProcess, writer: Writer, revision: int) -> None:
        self._server = server
        self._writer = writer
        self._revision = revision
        self._started = time.perf_counter()
        self.full_after_s: float | None = None
        self.samples: list[Sample] = []

    async def run(self) -> None:
        while True:
            at_s = time.perf_counter() - self._started
            if self.full_after_s is None and not await self._writer.remembers(self._revision):
                self.full_after_s = at_s
            self.samples.append(Sample(at_s, self._server.memory()))
            await asyncio.sleep(_SAMPLE_EVERY_S)


def run(options: Options) -> list[Table]:
    size = Size(5_000, 20, 20, 300, 5) if options.quick else Size(50_000, 200, 300, 300, 60)
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as folder, ServerProcess(folder) as server:
        loaded = run_wrk(server, CONFIGMAP["create"], count=size.objects)
        table = Table(
            f"Soak: {loaded.requests:,} objects, {size.watchers} watchers, {size.seconds:.0f} s of churn"
        )
        table.check(loaded.failed == 0, f"{loaded.failed} creates failed")
        uvloop.run(_soak(server, size, table))
    return [table]


async def _soak(server: ServerProcess, size: Size, table: Table) -> None:
    watchers = Watchers()
    async with Writer(server, connections=8) as writer:
        objects, revision = await writer.list()
        churn = Churn(writer, objects)
        try:
            await watchers.open(server, f"{CONFIGMAPS}?watch=true&resourceVersion={revision}", size.watchers)
            sampling = Sampling(server, writer, revision)
            await _churn(server, churn, sampling, size, table)
            in_time = await watchers.wait_for_lines(churn.writes, _CATCH_UP_S)
            table.check(in_time, "not every watcher got every event")
            there, _ = await writer.list()
            table.check(there == churn.objects, "what is there at the end is not what was written")
        finally:
            watchers.close()
    table.check(not watchers.disagreeing(), f"{watchers.disagreeing()} watchers saw something else")
    table.failures += differences(churn.acknowledged, watchers.events())[:10]
    _judge_memory(sampling, size, table)


async def _churn(server: ServerProcess, churn: Churn, sampling: Sampling, size: Size, table: Table) -> None:
    table.add("memory before the churn", server.memory(), "MB")
    before, started = server.cpu(), time.perf_counter()
    task = asyncio.create_task(sampling.run())
    await churn.run(size.seconds, size.writes_per_s)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    used, seconds = server.cpu() - before, time.perf_counter() - started
    table.add("writes", churn.writes / seconds, "/s", more_is_better=True)
    table.add("a write with its deliveries: CPU", used / churn.writes * 1e3, "ms")


def _judge_memory(sampling: Sampling, size: Size, table: Table) -> None:
    samples, full_s = sampling.samples, sampling.full_after_s
    table.add("memory at the end of the churn", samples[-1].memory_mb, "MB")
    if full_s is None or full_s + 2 * size.compared_s > size.seconds:
        table.notes.append(
            "the history was not full early enough: memory was still to grow, and is not judged"
        )
        return
    table.add("history full after", full_s, "s")
    since = [sample for sample in samples if sample.at_s >= full_s]
    early = fmean(sample.memory_mb for sample in since if sample.at_s < full_s + size.compared_s)
    late = fmean(sample.memory_mb for sample in since if sample.at_s >= size.seconds - size.compared_s)
    slope, _ = linear_regression(
        [sample.at_s / 60 for sample in since], [sample.memory_mb for sample in since]
    )
    table.add(f"memory, first {size.compared_s:.0f} s with a full history", early, "MB")
    table.add(f"memory, last {size.compared_s:.0f} s", late, "MB", bar=early * (1 + _NOISE))
    table.add("growth since the history is full", slope, "MB/min")
    table.check(late <= early * (1 + _NOISE), "memory is not flat")
