"""What a cluster costs in which nothing happens: ten days of virtual time, all controllers, three nodes.

Time that passes by itself is free, so what is measured is what wakes: leases, resyncs, looks at others.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.options import Options
from benchmarks.process import environment
from benchmarks.table import Table

__all__ = ["run"]

_HOURS = 240
_BAR_CPU_S = 10.0

_IDLE = """
import sys, time
from steersman.testing import Cluster, run_virtual
async def idle(hours):
    async with Cluster(controllers=("all",), nodes=3) as cluster:
        await cluster.clock.advance(600)
        before = time.process_time()
        await cluster.clock.advance(hours * 3600)
        print(time.process_time() - before)
run_virtual(idle(int(sys.argv[1])))
"""


def run(options: Options) -> list[Table]:
    hours = 24 if options.quick else _HOURS
    table = Table("An idle cluster in virtual time: all controllers, 3 simulated nodes")
    command = [sys.executable, "-c", _IDLE, str(hours)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    spent_s = float(done.stdout)
    table.add(f"CPU of {hours} hours", spent_s, "s", bar=_BAR_CPU_S * hours / _HOURS)
    return [table]
