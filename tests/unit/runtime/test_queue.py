"""Waiting for work."""

from __future__ import annotations

import asyncio

from steersman.aio import Scope
from steersman.runtime.queue import WorkQueue
from steersman.runtime.retry import RetryPolicy
from tests.sim.virtual_time import VirtualClock, run_virtual


def test_get_waits_until_something_is_added() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue(VirtualClock())
        async with Scope() as scope:
            first = scope.start(queue.get())
            second = scope.start(queue.get())
            await asyncio.sleep(1)
            queue.add("a")
            queue.add("b")
            assert {(await first).key, (await second).key} == {"a", "b"}
        await queue.close()

    run_virtual(main())


def test_get_waits_until_a_key_is_due() -> None:
    async def main() -> None:
        clock = VirtualClock()
        queue: WorkQueue[str] = WorkQueue(clock)
        queue.add("late", after_s=300)
        async with Scope() as scope:
            getter = scope.start(queue.get())
            await asyncio.sleep(1)
            queue.add("sooner", after_s=10)
            assert (await getter).key == "sooner"
            assert clock.monotonic() == 11
            assert (await queue.get()).key == "late"
            assert clock.monotonic() == 300
        await queue.close()

    run_virtual(main())


def test_a_failure_comes_back_after_its_backoff() -> None:
    async def main() -> None:
        clock = VirtualClock()
        queue: WorkQueue[str] = WorkQueue(clock, retry=RetryPolicy.flat(60))
        queue.add("a", reason="added")
        work = await queue.get()
        assert (work.attempt, work.reasons) == (1, ("added",))
        assert queue.failed("a") == 60
        work = await queue.get()
        assert (clock.monotonic(), work.attempt, work.reasons) == (60, 2, ("retry",))
        queue.done("a", again_after_s=5)
        assert (await queue.get()).reasons == ("requeue",)
        assert clock.monotonic() == 65
        assert queue.metrics.retries == 1
        assert queue.metrics.adds == 3
        waits, works = queue.metrics.durations
        assert (waits.count, works.count) == (3, 2)
        await queue.close()

    run_virtual(main())


def test_a_cancelled_getter_leaves_its_turn_to_the_next() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue(VirtualClock())
        async with Scope() as scope:
            first, second = scope.start(queue.get()), scope.start(queue.get())
            await asyncio.sleep(0)
            queue.add("a")
            first.cancel()
            assert (await second).key == "a"
        await queue.close()

    run_virtual(main())
