"""Lease contenders in a hostile world: never two leaders, and one again soon after it has calmed down."""

from __future__ import annotations

import pytest

from tests.sim.lease_world import Faults, World

SEEDS = 250


@pytest.mark.parametrize("block", range(4))
def test_never_two_leaders_at_once_and_terms_only_grow(block: int) -> None:
    elections = 0
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        world = World(seed)
        world.run(until=120.0)
        elections += len(world.elections)
    assert elections > SEEDS, "the worlds are so hostile that nothing is tested"


def test_two_processes_with_one_identity_still_exclude_each_other() -> None:
    for seed in range(SEEDS):
        World(seed, same_identity=True).run(until=120.0)


def test_one_leads_when_the_world_has_calmed_down() -> None:
    for seed in range(SEEDS):
        world = World(seed)
        world.run(until=100.0)
        world.calm()
        world.run(until=160.0)
        assert len(world.leaders()) == 1, seed


def test_in_a_calm_world_nobody_takes_over() -> None:
    calm = Faults(lost=0, slow=0, drift=0.05, trouble_every_s=1e9)
    for seed in range(10):
        world = World(seed, calm)
        world.run(until=900.0)
        assert len(world.elections) == 1
    world.run(until=86_400.0)
    assert len(world.elections) == 1, "for a day"


def test_the_world_notices_two_leaders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contender that does not wait for the lease to expire is caught."""
    monkeypatch.setattr("steersman.election.lease.core.LeaseCore._is_free", lambda *_: True)
    world = World(seed=1)
    with pytest.raises(AssertionError, match="node-"):
        world.run(until=600.0)
