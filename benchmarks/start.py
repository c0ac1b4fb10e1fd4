"""Where the time from nothing to ready goes: imports by package, and the phases of starting a cluster.

Everything is measured in fresh interpreters, and the median of some is taken.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from statistics import median

from benchmarks.options import Options
from benchmarks.process import environment
from benchmarks.reference import BAR, PEER
from benchmarks.table import Table

__all__ = ["run"]

_SHOWN = 12

#: Prints milliseconds by phase. The first start in a process loads tables that later ones find loaded.
_PHASES = """
import json, sys, time
phases = {}
def phase(name):
    global then
    now = time.perf_counter()
    phases[name] = (now - then) * 1000
    then = time.perf_counter()
then = time.perf_counter()
import uvloop
from steersman.cluster.local import ClusterConfig, LocalCluster
phase("import steersman.cluster.local")
async def start(name, data):
    phase("")
    async with LocalCluster(ClusterConfig(data=data)):
        phase(name)
async def main(folder):
    await start("first cluster in memory", ":memory:")
    await start("another in memory", ":memory:")
    await start("another, empty folder", folder)
    await start("another, same folder again", folder)
uvloop.run(main(sys.argv[1]))
del phases[""]
print(json.dumps(phases))
"""


def run(options: Options) -> list[Table]:
    times = 1 if options.quick else 5
    return [_phases(times), _imports()]


def _phases(times: int) -> Table:
    table = Table("From nothing to ready, in one process")
    _start()  # not measured: it leaves bytecode behind
    bare = [_bare_ms() for _ in range(times)]
    runs = [_start() for _ in range(times)]
    table.add("python itself", median(bare), "ms")
    for name in runs[0]:
        table.add(name, median(phases[name] for phases in runs), "ms")
    ready_s = (median(bare) + sum(row.value for row in table.rows[1:3])) / 1000
    table.add("so a process with a cluster in memory", ready_s, "s", peer=PEER.ready_s, bar=BAR.ready_s)
    return table


def _start() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="steersman-bench-") as folder:
        phases: dict[str, float] = json.loads(_python("-c", _PHASES, folder).stdout)
        return phases


def _bare_ms() -> float:
    started = time.perf_counter()
    _python("-c", "pass")
    return (time.perf_counter() - started) * 1000


def _imports() -> Table:
    """Self time of all modules, summed by package; in the project's own, by the packages within."""
    table = Table("Imports of steersman.cluster.local, by package (self time, slowed down by measuring)")
    spent: Counter[str] = Counter()
    for line in _python("-X", "importtime", "-c", "import steersman.cluster.local").stderr.splitlines():
        own, _, module = line.removeprefix("import time:").split("|")
        if own.strip().isdigit():
            spent[_package(module.strip())] += int(own)
    for package, microseconds in spent.most_common(_SHOWN):
        table.add(package, microseconds / 1000, "ms")
    rest = spent.total() - sum(microseconds for _, microseconds in spent.most_common(_SHOWN))
    table.add("all others", rest / 1000, "ms")
    return table


def _package(module: str) -> str:
    parts = module.split(".")
    if parts[0] == "steersman":
        return ".".join(parts[:3])
    return "the standard library" if parts[0] in sys.stdlib_module_names else parts[0]


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment()
    )
