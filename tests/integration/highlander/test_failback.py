"""Who leads when controllers have priorities, and when one of them cannot reach its cluster."""

from __future__ import annotations

from typing import Any

from steersman.testing import eventually, virtual_time
from tests.integration.highlander.worlds import TIMES, Controller, World, config, world

#: `failbackAfter` of `TIMES`, and what it takes to notice.
SOON_S = 25.0


def high(name: str = "high", **fields: Any) -> Any:
    return config(name, priority=10, **fields)


async def leads_on(here: World, controller: Controller, for_s: float = 2 * SOON_S) -> None:
    """It leads for so long without a break."""
    epoch = controller.tenant.board.controller.epoch
    for _ in range(round(for_s)):
        await here.pass_time(1)
        assert controller.tenant.leads
    assert controller.tenant.board.controller.epoch == epoch


@virtual_time
async def test_the_lock_goes_to_whom_a_leader_gives_way_and_not_to_its_peers() -> None:
    async with world() as here:
        leader = here.start(config("low"))
        await here.running(leader)
        peers = [here.start(config(f"peer-{number}")) for number in range(3)]
        await here.pass_time(5)
        # It looks less often than they do.
        preferred = here.start(high(election={**TIMES, "retryPeriod": 1.5}))
        await here.running(preferred)
        assert not any(peer.tenant.board.counters.get(("failover_total", ())) for peer in peers)
        epoch = leader.tenant.board.controller.epoch
        assert preferred.tenant.board.controller.epoch == epoch + 1
        await leads_on(here, preferred)
        await preferred.die()
        await eventually(lambda: any(each.leads for each in (leader, *peers)), 30)
        for each in (*peers, leader):
            await each.stop()


@virtual_time
async def test_one_that_comes_and_goes_does_not_make_leadership_come_and_go() -> None:
    async with world() as here:
        leader = here.start(config("low"))
        await here.running(leader)
        for _ in range(6):
            flapping = here.start(high())
            await leads_on(here, leader, 8)
            await flapping.die()
        await leads_on(here, leader)
        await leader.stop()


@virtual_time
async def test_of_equals_the_leader_stays() -> None:
    async with world() as here:
        leader = here.start(high("first"))
        await here.running(leader)
        other = here.start(high("second"))
        await leads_on(here, leader)
        await other.stop()
        await leader.stop()


@virtual_time
async def test_nobody_gives_way_to_one_that_does_not_contend() -> None:
    async with world() as here:
        leader = here.start(config("low"))
        await here.running(leader)
        drained = here.start(high())
        await here.pass_time(5)
        await drained.tenant.drain()
        await leads_on(here, leader)
        await drained.tenant.undrain()
        await here.running(drained)
        await drained.tenant.drain()
        await here.running(leader)
        await leads_on(here, leader)
        await drained.tenant.undrain()
        await here.pass_time(5)
        drained.tenant.configure(high(remainsFollower=True))
        await leads_on(here, leader)
        await drained.stop()
        await leader.stop()


@virtual_time
async def test_nobody_gives_way_to_one_that_cannot_reach_its_cluster() -> None:
    async with world() as here:
        leader = here.start(config("low"))
        await here.running(leader)
        ill = here.start(high())
        await here.pass_time(5)
        with ill.faults.refuse(503, resource="pods"):
            await leads_on(here, leader)
            await leader.stop()
            await here.pass_time(SOON_S)
            assert not ill.leads
        await here.running(ill)
        await ill.stop()


@virtual_time
async def test_who_was_given_way_to_and_is_gone_is_not_waited_for() -> None:
    async with world() as here:
        leader = here.start(config("low", election={**TIMES, "stepDownPause": 600}))
        await here.running(leader)
        preferred = here.start(high())
        await eventually(lambda: str(leader.tenant.board.controller.phase) == "stopping", 60)
        await preferred.die()
        epoch = leader.tenant.board.controller.epoch
        await eventually(lambda: leader.leads and leader.tenant.board.controller.epoch > epoch, SOON_S)
        await here.running(leader)
        await leader.stop()


@virtual_time
async def test_a_leader_without_its_cluster_leads_on_while_its_copies_do() -> None:
    async with world() as here:
        leader = here.start(config())
        await here.running(leader)
        other = here.start(config("b"))
        with leader.faults.refuse(503, resource="pods"):
            await leads_on(here, leader)
        await other.stop()
        await leader.stop()


@virtual_time
async def test_a_leader_gives_up_when_it_was_told_after_how_long_without_its_cluster() -> None:
    times = {**TIMES, "giveUpAfter": 20}
    async with world() as here:
        leader = here.start(config(election=times))
        await here.running(leader)
        other = here.start(config("b", election=times))
        with leader.faults.refuse(503, resource="pods"):
            await leads_on(here, leader, 15)
            await here.running(other)
            await leads_on(here, other)
            assert "cluster cannot be reached" in leader.tenant.board.history[1].reason
            epoch = other.tenant.board.controller.epoch
            await other.tenant.step_down("test")
            # Whoever cannot run anything leaves the lock to one that can.
            await eventually(lambda: other.tenant.board.controller.epoch > epoch, 60)
            await here.running(other)
        await leads_on(here, other)
        await leader.stop()
        await other.stop()


@virtual_time
async def test_a_leader_gives_up_while_it_steps_down_as_well() -> None:
    times = {**TIMES, "giveUpAfter": 20}
    async with world() as here:
        leader = here.start(config(election=times))
        await here.running(leader)
        other = here.start(config("b", election=times))
        with leader.faults.refuse(503, resource="pods"):
            await leader.tenant.step_down("test")
            await here.pass_time(10)
            assert leader.tenant.board.controller.is_leader
            await here.running(other)
        await leader.stop()
        await other.stop()
