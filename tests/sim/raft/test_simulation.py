"""Random schedules of everything that can go wrong. `make sim SEED=n` replays one."""

from __future__ import annotations

import pytest

from tests.sim.raft.schedule import NODE, run

_BATCHES = 12
_PER_BATCH = 20


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_promises_hold_whatever_happens(batch: int) -> None:
    for seed in range(batch * _PER_BATCH, (batch + 1) * _PER_BATCH):
        try:
            run(seed)
        except Exception as error:
            error.add_note(f"make sim SEED={seed}")
            raise


@pytest.mark.parametrize("batch", range(4))
def test_promises_hold_with_the_timing_of_nodes(batch: int) -> None:
    for seed in range(batch * _PER_BATCH, (batch + 1) * _PER_BATCH):
        try:
            run(seed, timing=NODE)
        except Exception as error:
            error.add_note(f"python -m tests.sim.raft {seed} 1 node")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(1, 17))
def test_promises_hold_in_thousands_of_schedules(batch: int) -> None:
    for seed in range(batch * 1000, batch * 1000 + 125):
        try:
            run(seed)
        except Exception as error:
            error.add_note(f"make sim SEED={seed}")
            raise


def test_one_seed_reproduces_everything() -> None:
    worlds = [run(7), run(7)]
    assert worlds[0].steps == worlds[1].steps
    assert worlds[0].checks.committed == worlds[1].checks.committed
    assert worlds[0].checks.committed
