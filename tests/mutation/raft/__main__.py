"""`python -m tests.mutation.raft [WORD]`: make every named mistake (or those with WORD); print the score."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.mutation.raft.named import GUARDS, MUTANTS
from tests.mutation.trial import Bench


def main(words: list[str]) -> int:
    chosen = [mutant for mutant in MUTANTS if all(word in mutant.name for word in words)]
    caught = 0
    with tempfile.TemporaryDirectory(prefix="steersman-mutation-") as folder:
        bench = Bench(Path(folder))
        bench.passes(GUARDS)
        for mutant in chosen:
            dead = bench.catches(mutant.path, mutant.of(bench.source(mutant.path)), GUARDS)
            caught += dead
            print(f"{'caught' if dead else 'ALIVE '}  {mutant.name}", flush=True)
    print(f"{caught} of {len(chosen)} mutants caught: {100 * caught // max(len(chosen), 1)} %")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
