"""`python -m tests.mutation MODULE…`: try every mutant, not only a sample; print those that live."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.mutation.guards import ALLOWED, GUARDS
from tests.mutation.mutants import mutants
from tests.mutation.trial import Bench


def main(modules: list[str]) -> int:
    unknown = set(modules) - {guard.module for guard in GUARDS}
    if unknown:
        print(f"not guarded: {', '.join(sorted(unknown))}; guards.py says what is", file=sys.stderr)
        return 2
    alive = tried = 0
    with tempfile.TemporaryDirectory(prefix="steersman-mutation-") as folder:
        bench = Bench(Path(folder))
        for guard in GUARDS:
            if modules and guard.module not in modules:
                continue
            bench.passes(guard.paths)
            for mutant in mutants(bench.source(guard.module)):
                if (guard.module, mutant.name) in ALLOWED:
                    continue
                tried += 1
                if not bench.catches(guard.module, mutant.source, guard.paths):
                    alive += 1
                    print(f"{guard.module}:{mutant.line}: {mutant.name}", flush=True)
    print(f"{tried} mutants, {alive} alive")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
