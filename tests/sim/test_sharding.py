"""Members that share objects in a hostile world: never two at one object, and somebody soon."""

from __future__ import annotations

import os

import pytest

from steersman.runtime.sharding.core import ShardCore
from steersman.runtime.sharding.views import View, owner
from tests.sim.shard_world import OBJECTS, Faults, World

SEEDS = int(os.environ.get("STEERSMAN_SHARDING_SEEDS", "8"))
#: An unkind network, and nothing else goes wrong by itself.
QUIET = Faults(lost=0.01, slow=0.0, trouble_every_s=1e9)


@pytest.mark.parametrize("block", range(2))
def test_no_object_is_worked_on_by_two(block: int) -> None:
    works = 0
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        world = World(seed)
        world.run(until=90.0)
        works += world.works
    assert works > SEEDS * 500, "the worlds are so hostile that nothing is tested"


def test_everything_has_somebody_soon_after_the_world_has_calmed_down() -> None:
    for seed in range(SEEDS):
        world = World(seed)
        world.run(until=60.0)
        world.calm()
        if not world.members:
            world.add()
        world.run(until=90.0)
        assert world.longest_alone_s < 12.0, seed  # the last trouble may have been two at once
        world.trouble_now()
        world.run(until=120.0)
        assert world.longest_alone_s == pytest.approx(0.0, abs=0.5), seed


@pytest.mark.parametrize("trouble", ["kill", "leave", "pause", "cut off", "add"])
def test_after_one_trouble_nothing_is_alone_for_ten_seconds(trouble: str) -> None:
    for seed in range(SEEDS):
        world = World(seed, QUIET, count=3)
        world.run(until=20.0)
        for _ in range(3):
            world.trouble_now()
            victim = world.random.choice(world.members)
            match trouble:
                case "kill":
                    victim.kill()
                    world.add()
                case "leave":
                    victim.leave()
                    world.add()
                case "pause":
                    victim.paused = True
                    world.at(world.now + 12, victim.resume)
                case "cut off":
                    victim.cut_off = True
                    world.at(world.now + 12, victim.reconnect)
                case "add":
                    world.add()
            world.run(until=world.now + 25.0)
            assert world.longest_alone_s < 10.0, (seed, trouble)


def test_in_a_calm_world_everybody_has_its_part_and_nothing_moves() -> None:
    world = World(1, Faults(lost=0, slow=0, trouble_every_s=1e9), count=3)
    world.run(until=10.0)
    before = [[unit for unit in OBJECTS if member.owns(unit)] for member in world.members]
    assert sorted(unit for part in before for unit in part) == sorted(OBJECTS)
    assert all(before), "three members share 12 objects"
    world.trouble_now()
    world.run(until=600.0)
    assert [[unit for unit in OBJECTS if member.owns(unit)] for member in world.members] == before
    assert world.longest_alone_s == pytest.approx(0.0, abs=0.2)


def test_the_world_notices_a_member_that_does_not_look_at_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        View, "owns", lambda self, unit: self.claims and owner(unit, self.claims[-1]) == self.member
    )
    assert _is_caught()


def test_the_world_notices_a_claim_that_is_replaced_while_work_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = ShardCore._plan

    def hasty(self: ShardCore, now: float) -> object:
        commands = honest(self, now)
        self._claims[-1].drained = True
        return commands

    monkeypatch.setattr(ShardCore, "_plan", hasty)
    assert _is_caught()


def test_the_world_notices_a_member_that_does_not_look_at_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShardCore, "valid", lambda self, now: True)
    assert _is_caught()


def _is_caught() -> bool:
    for seed in range(SEEDS):
        try:
            World(seed).run(until=90.0)
        except AssertionError:
            return True
    return False
