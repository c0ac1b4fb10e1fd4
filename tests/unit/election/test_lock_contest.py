"""Contending for a lock in a store: in a calm world exactly, in a hostile one never two at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest

from steersman.aio import Scope
from steersman.election import ElectionConfigError
from steersman.election.lock import contest
from tests.sim.virtual_time import run_virtual
from tests.unit.election.lock_world import Contender, Record, World

SEEDS = 8


def in_world(test: Callable[[World], Awaitable[None]], seed: int = 0) -> None:
    async def main() -> None:
        async with Scope() as network, Scope() as processes:
            world = World(seed, network, processes)
            try:
                await test(world)
            finally:
                world.settle()

    run_virtual(main())


async def hostile(world: World) -> None:
    world.add_some()
    world.processes.start(world.trouble())
    for contender in world.contenders:
        world.processes.start(contender.run_for_ever())
    await world.watch(until_s=300)


def test_never_two_leaders_at_once_and_terms_only_grow() -> None:
    elections = 0

    async def test(world: World) -> None:
        nonlocal elections
        await hostile(world)
        elections += len(world.terms)
        world.settle()
        await world.watch(until_s=420)
        assert len(world.leaders()) == 1, "one leads when the world has calmed down"

    for seed in range(SEEDS):
        in_world(test, seed)
    assert elections > 3 * SEEDS, "the worlds are so hostile that nothing is tested"


MISTAKES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "leads on after the lock has expired": lambda patch: patch.setattr(
        contest.LockElector, "is_leader", property(lambda self: self._leads_until > 0)
    ),
    "leaves no margin": lambda patch: patch.setattr(
        contest, "LockSettings", partial(contest.LockSettings, renew_deadline_s=14.9)
    ),
    "one token for all": lambda patch: patch.setattr(contest, "_new_token", lambda: "token"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_world_notices_mistakes(monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    MISTAKES[mistake](monkeypatch)
    with pytest.raises((AssertionError, BaseExceptionGroup)):
        all(in_world(hostile, seed) is None for seed in range(SEEDS))


# --- step by step, where nothing goes wrong but what the test says


async def leading(world: World) -> tuple[Contender, asyncio.Task[None]]:
    """A contender that has just been elected, and its run."""
    world.settle()
    contender = world.add("me")
    running = world.processes.start(contender.elector.run(contender.work))
    while not contender.working:
        await asyncio.sleep(0.01)
    return contender, running


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_free_lock_is_taken_at_once() -> None:
    async def test(world: World) -> None:
        contender, _ = await leading(world)
        assert now() < 1
        assert (contender.elector.is_leader, contender.elector.term, contender.elector.leader) == (
            True,
            1,
            "me",
        )
        assert contender.line.sent == ["observe", "acquire"]

    in_world(test)


def test_a_lock_is_looked_at_when_it_expires_and_written_only_then() -> None:
    async def test(world: World) -> None:
        world.settle()
        world.store.record = Record("other", "token", 7, until=9.0, duration_s=15)
        contender = world.add("me")
        world.processes.start(contender.elector.run(contender.work))
        await asyncio.sleep(8.9)
        assert (contender.elector.leader, contender.elector.term) == ("other", 7)
        assert set(contender.line.sent) == {"observe"}
        await asyncio.sleep(1)
        assert (contender.elector.leader, contender.elector.term) == ("me", 8)

    in_world(test)


def test_who_is_in_a_hurry_finds_a_lock_that_is_released_early() -> None:
    async def test(world: World) -> None:
        world.settle()
        world.store.record = Record("other", "token", 7, until=1000.0, duration_s=1000)
        contender = world.add("me")
        world.processes.start(contender.elector.run(contender.work))
        await asyncio.sleep(20)
        for _ in range(30):
            looks = len(contender.line.sent)
            contender.elector.hurry()
            await asyncio.sleep(0.1)
            assert len(contender.line.sent) <= looks + 1, "it looks often, not all the time"
        world.store.release("token")
        await asyncio.sleep(0.7)
        assert contender.elector.is_leader

    in_world(test)


def test_a_leader_that_is_cut_off_leads_for_ten_seconds_from_its_last_good_request() -> None:
    async def test(world: World) -> None:
        contender, _ = await leading(world)
        elected = now()
        contender.connected.clear()
        await asyncio.sleep(9.5)
        assert contender.leaderships[0].valid
        while contender.leaderships[0].valid:
            await asyncio.sleep(0.01)
        assert now() <= elected + 10
        await asyncio.sleep(0.1)
        assert not contender.working
        contender.connected.set()
        await asyncio.sleep(20)
        assert [leadership.term for leadership in contender.leaderships] == [1, 2]

    in_world(test)


@pytest.mark.parametrize("request_name", ["acquire", "renew"])
def test_leadership_counts_from_when_its_request_was_sent(request_name: str) -> None:
    async def test(world: World) -> None:
        world.settle()
        contender = world.add("me")
        contender.line.delay_s = 0.8
        world.processes.start(contender.elector.run(contender.work))
        while request_name not in contender.line.sent:
            await asyncio.sleep(0.01)
        sent_at = contender.line.sent_at[request_name]
        await asyncio.sleep(1.9)
        contender.line.lost = {"renew"}
        assert contender.elector.is_leader
        while contender.elector.is_leader:
            await asyncio.sleep(0.01)
        assert now() == pytest.approx(sent_at + 10, abs=0.02)

    in_world(test)


def test_a_leadership_that_is_over_does_not_come_back_with_a_late_answer() -> None:
    """The process is stopped while a renewal is under way, and goes on when its leadership is over. The answer
    is there, and the lock was renewed; but whoever asked meanwhile was told that nobody leads here."""

    async def test(world: World) -> None:
        contender, _ = await leading(world)
        contender.connected.clear()
        await asyncio.sleep(8)  # the second renewal is under way since 6 s
        contender.going.clear()
        contender.connected.set()
        await asyncio.sleep(3)
        assert world.store.record.until > now() + 5
        assert not contender.leaderships[0].valid
        contender.going.set()
        for _ in range(100):
            assert not contender.leaderships[0].valid
            await asyncio.sleep(0.01)

    in_world(test)


def test_an_election_that_is_answered_when_it_is_over_is_none() -> None:
    async def test(world: World) -> None:
        world.settle()
        contender = world.add("me")
        world.processes.start(contender.elector.run(contender.work))
        while "acquire" not in contender.line.sent:
            await asyncio.sleep(0.001)
        contender.going.clear()
        await asyncio.sleep(11)
        contender.going.set()
        await asyncio.sleep(1)
        assert not contender.leaderships
        await asyncio.sleep(10)
        assert contender.elector.is_leader

    in_world(test)


def test_a_term_is_led_once_even_if_the_lock_could_not_be_given_up() -> None:
    async def test(world: World) -> None:
        contender, _ = await leading(world)
        contender.line.lost = {"renew", "release"}
        await asyncio.sleep(30)
        contender.line.lost.clear()
        await asyncio.sleep(30)
        assert [leadership.term for leadership in contender.leaderships] == [1, 2, 3][
            : len(contender.leaderships)
        ]
        assert len(contender.leaderships) > 1

    in_world(test)


def test_an_election_whose_answer_got_lost_is_noticed_and_used() -> None:
    async def test(world: World) -> None:
        world.settle()
        contender = world.add("me")
        world.processes.start(contender.elector.run(contender.work))
        while not world.store.record.holder:
            await asyncio.sleep(0.001)
        contender.connected.clear()
        await asyncio.sleep(4.5)
        contender.connected.set()
        await asyncio.sleep(5)
        assert [leadership.term for leadership in contender.leaderships] == [1]

    in_world(test)


def test_who_is_cancelled_while_acquiring_leaves_no_lock_behind() -> None:
    async def test(world: World) -> None:
        world.settle()
        contender = world.add("me")
        running = world.processes.start(contender.elector.run(contender.work))
        while not world.store.record.holder:
            await asyncio.sleep(0.001)
        assert not contender.elector.is_leader, "the answer is still under way"
        running.cancel()
        await asyncio.wait((running,))
        await asyncio.sleep(1)
        assert running.cancelled()
        assert world.store.record.holder == ""

    in_world(test)


def test_a_release_that_has_no_answer_does_not_keep_run_from_ending() -> None:
    async def test(world: World) -> None:
        contender, running = await leading(world)
        contender.connected.clear()
        running.cancel()
        await asyncio.wait((running,), timeout=5)
        assert running.cancelled()

    in_world(test)


def test_a_store_that_forgets_makes_the_leader_step_down_but_not_the_term(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test(world: World) -> None:
        contender, _ = await leading(world)
        world.store.record = replace(Record(), holder="other", token="x", term=1, until=now() + 1)
        contender.elector._term = 41
        await asyncio.sleep(20)
        assert [leadership.term for leadership in contender.leaderships] == [1, 42]

    in_world(test)
    assert "the term went back from 41 to 1" in caplog.text


def test_a_leader_whose_term_others_know_to_be_old_steps_down_for_a_higher_one() -> None:
    """Redis lost everything, somebody leads in term 1 again; another still knows of term 41."""

    async def test(world: World) -> None:
        leader, _ = await leading(world)
        observer = world.add("observer")
        observer.elector._term = 41
        world.processes.start(observer.elector.run(observer.work))
        await world.watch(now() + 10)
        assert [leadership.term for leadership in leader.leaderships + observer.leaderships] == [1, 42]

    in_world(test)


def test_a_lock_that_lasts_for_ever_because_the_stores_clock_went_back_is_corrected() -> None:
    async def test(world: World) -> None:
        world.settle()
        world.store.record = Record("dead", "token", 3, until=86_400.0, duration_s=15.0)
        contender = world.add("me")
        world.processes.start(contender.elector.run(contender.work))
        await asyncio.sleep(20)
        assert contender.elector.is_leader

    in_world(test)


def test_a_leader_not_heard_of_for_longer_than_its_lock_lasts_is_none() -> None:
    async def test(world: World) -> None:
        world.settle()
        world.store.record = Record("other", "token", 7, until=15.0, duration_s=15)
        contender = world.add("me")
        world.processes.start(contender.elector.run(contender.work))
        await asyncio.sleep(1)
        contender.connected.clear()
        assert contender.elector.leader == "other"
        await asyncio.sleep(15)
        assert contender.elector.leader == ""
        assert contender.elector.term == 7

    in_world(test)


def test_an_observer_asks_without_contending() -> None:
    async def test(world: World) -> None:
        world.settle()
        world.store.record = Record("other", "token", 7, until=15.0, duration_s=15)
        seen = await world.add("observer").elector.observe()
        assert (seen.holder, seen.term) == ("other", 7)
        assert world.store.record.holder == "other"

    in_world(test)


def test_cancelled_twice_it_does_not_wait_for_the_lock() -> None:
    async def test(world: World) -> None:
        contender, running = await leading(world)
        for _ in range(2):
            running.cancel()
            await asyncio.sleep(0)
        await asyncio.wait((running,))
        assert running.cancelled()
        assert not contender.working

    in_world(test)


@pytest.mark.parametrize(
    "times",
    [(10, 10, 2), (15, 2, 2), (15, 10, 0), (15, 10, 2, -1)],
    ids=["no margin", "no time to renew", "no pause", "negative jitter"],
)
def test_times_that_are_not_safe_are_refused(times: tuple[float, ...]) -> None:
    with pytest.raises(ElectionConfigError, match="a lock needs duration_s > renew_deadline_s"):
        contest.LockSettings(*times)
