"""What every elector owes its users: the duties listed in `steersman.election.elector`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from steersman.aio import Scope
from steersman.election import Elector, Leadership, LeadershipLost
from tests.support import waiting

#: More than any engine needs to notice that a leader is gone, also where a second takes a tenth of one and the
#: machine is busy.
PATIENCE_S = 600.0
#: A leader that would lose the lock for no reason has done so by then.
LONG_S = 60.0


class Worker:
    """A contender and its work: it leads until told to end, or cancelled; then it cleans up until it is told
    that all is `clean`."""

    def __init__(self, elector: Elector) -> None:
        self.elector = elector
        self.leaderships: list[Leadership] = []
        self.working = False
        self.cancelled = 0
        self.end = asyncio.Event()
        self.failure: Exception | None = None
        self.clean = asyncio.Event()
        self.clean.set()

    async def work(self, leadership: Leadership) -> None:
        assert not self.working, "work began before the last one had ended"
        self.leaderships.append(leadership)
        self.working = True
        try:
            await self.end.wait()
            if self.failure is not None:
                raise self.failure
        except asyncio.CancelledError:
            self.cancelled += 1
            await self.clean.wait()
            raise
        finally:
            self.working = False


async def until(condition: Callable[[], object]) -> None:
    await waiting.until(condition, PATIENCE_S, every_s=0.05)


@asynccontextmanager
async def watched(*workers: Worker) -> AsyncIterator[Scope]:
    """Runs while the test does: at most one leads at any moment."""

    async def look() -> None:
        while True:
            leaders = [worker.elector.identity for worker in workers if worker.elector.is_leader]
            assert len(leaders) <= 1, leaders
            await asyncio.sleep(0.02)

    async with Scope() as scope:
        scope.start(look())
        yield scope


async def test_one_leads_and_the_others_know_who(arena):
    workers = [Worker(arena.contender(name)) for name in ("a", "b", "c")]
    async with watched(*workers) as scope:
        for worker in workers:
            scope.start(worker.elector.run(worker.work))
        await until(lambda: any(worker.working for worker in workers))
        [leader] = [worker for worker in workers if worker.working]
        assert leader.elector.is_leader
        assert leader.leaderships[0].valid
        assert leader.elector.term == leader.leaderships[0].term > 0
        for worker in workers:
            await until(lambda worker=worker: worker.elector.leader == leader.elector.identity)
        await asyncio.sleep(LONG_S)
        assert [worker.working for worker in workers].count(True) == 1, "it leads on"
        assert len(leader.leaderships) == 1


async def test_when_the_work_returns_run_returns_and_the_lock_is_free(arena):
    first, second = Worker(arena.contender("a")), Worker(arena.contender("b"))
    async with watched(first, second) as scope:
        running = scope.start(first.elector.run(first.work))
        await until(lambda: first.working)
        scope.start(second.elector.run(second.work))
        first.end.set()
        await running
        assert not first.elector.is_leader
        assert not first.leaderships[0].valid
        await until(lambda: second.working)
        assert second.leaderships[0].term > first.leaderships[0].term


async def test_when_the_work_fails_run_raises_that_and_the_lock_is_free(arena):
    first, second = Worker(arena.contender("a")), Worker(arena.contender("b"))
    async with watched(first, second) as scope:
        first.failure = ValueError("broken")
        first.end.set()
        with pytest.raises(ValueError, match="broken"):
            await first.elector.run(first.work)
        scope.start(second.elector.run(second.work))
        await until(lambda: second.working)


async def test_when_run_is_cancelled_the_lock_is_freed_after_the_work_has_ended(arena):
    first, second = Worker(arena.contender("a")), Worker(arena.contender("b"))
    first.clean.clear()
    async with watched(first, second) as scope:
        running = scope.start(first.elector.run(first.work))
        await until(lambda: first.working)
        scope.start(second.elector.run(second.work))
        running.cancel()
        await until(lambda: first.cancelled)
        await asyncio.sleep(1)
        assert first.working
        assert first.elector.is_leader, "it is still allowed to clean up"
        first.clean.set()
        await asyncio.wait((running,))
        assert running.cancelled()
        assert first.cancelled == 1
        await until(lambda: second.working)
        assert not first.working


async def test_a_standby_that_is_cancelled_just_ends(arena):
    first, second = Worker(arena.contender("a")), Worker(arena.contender("b"))
    async with watched(first, second) as scope:
        scope.start(first.elector.run(first.work))
        await until(lambda: first.working)
        standby = scope.start(second.elector.run(second.work))
        await asyncio.sleep(5)
        standby.cancel()
        await asyncio.wait((standby,))
        assert not second.leaderships
        assert first.elector.is_leader


async def test_a_leader_that_is_cut_off_stops_and_follows_when_it_is_back(arena):
    first, second = Worker(arena.contender("a")), Worker(arena.contender("b"))
    async with watched(first, second) as scope:
        scope.start(first.elector.run(first.work))
        await until(lambda: first.working)
        scope.start(second.elector.run(second.work))
        arena.cut_off("a")
        await until(lambda: second.working)
        assert (first.working, first.cancelled) == (False, 1)
        assert not first.elector.is_leader
        with pytest.raises(LeadershipLost):
            first.leaderships[0].check()
        second.leaderships[0].check()
        arena.heal("a")
        await until(lambda: first.elector.leader == "b")
        assert second.leaderships[0].term > first.leaderships[0].term


@pytest.mark.ours("virtual time")
async def test_it_does_not_contend_before_the_old_work_has_ended(arena):
    worker = Worker(arena.contender("a"))
    worker.clean.clear()
    async with watched(worker) as scope:
        scope.start(worker.elector.run(worker.work))
        await until(lambda: worker.working)
        arena.cut_off("a")
        await until(lambda: worker.cancelled)
        arena.heal("a")
        await asyncio.sleep(40)
        assert not worker.elector.is_leader
        assert "leadership was lost" in worker.elector.check()
        worker.clean.set()
        await until(lambda: len(worker.leaderships) == 2)
        assert worker.elector.check() == ""
        assert worker.leaderships[1].term > worker.leaderships[0].term
        assert not worker.leaderships[0].valid
        assert worker.leaderships[1].valid


async def test_a_contender_runs_once_at_a_time_but_again_afterwards(arena):
    worker = Worker(arena.contender("a"))
    async with watched(worker) as scope:
        running = scope.start(worker.elector.run(worker.work))
        await until(lambda: worker.working)
        with pytest.raises(RuntimeError, match="already"):
            await worker.elector.run(worker.work)
        worker.end.set()
        await running
        await worker.elector.run(worker.work)
        first, second = (leadership.term for leadership in worker.leaderships)
        assert first < second
