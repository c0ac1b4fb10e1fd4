"""`python -m tests.sim.raft SEED [COUNT [node]]`: run one schedule, or many from there on; say which fail.

With `node`, members have the timing that nodes have by default.
"""

from __future__ import annotations

import sys
import time
import traceback

from tests.sim.raft.schedule import CORE, NODE, run


def main(arguments: list[str]) -> int:
    first = int(arguments[0]) if arguments else 0
    count = int(arguments[1]) if len(arguments) > 1 else 1
    timing = NODE if arguments[2:] == ["node"] else CORE
    failed = steps = 0
    started = time.monotonic()
    for seed in range(first, first + count):
        try:
            steps += run(seed, timing=timing).steps
        except Exception:  # noqa: BLE001 - whatever broke, the seed is what matters
            failed += 1
            traceback.print_exc()
            print(f"seed {seed} failed: make sim SEED={seed}", file=sys.stderr, flush=True)
    print(f"{count} schedules, {failed} failed, {steps} steps in {time.monotonic() - started:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
