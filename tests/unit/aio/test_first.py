"""The first of several ends the wait; what has not ended is cancelled or, if it is a task, left alone."""

from __future__ import annotations

import asyncio

import pytest

from steersman.aio import Scope, SystemClock, first_of, wait_for_event, wait_for_tasks
from steersman.testing import virtual_time
from steersman.testing.virtual import VirtualClock


async def ends_after(seconds: float, log: list[str], name: str) -> None:
    try:
        await asyncio.sleep(seconds)
    finally:
        log.append(name)


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_the_first_ends_the_wait_and_the_others_have_ended_when_it_returns() -> None:
    log: list[str] = []
    began = now()
    await first_of(ends_after(5, log, "slow"), ends_after(2, log, "quick"))
    assert now() - began == 2
    assert log == ["quick", "slow"]


@virtual_time
async def test_a_failure_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await first_of(fail(), asyncio.sleep(10))


@virtual_time
async def test_a_failure_goes_to_a_handler_that_is_given() -> None:
    async def fail() -> None:
        raise ValueError("no")

    found: list[BaseException] = []
    await first_of(fail(), asyncio.sleep(10), on_error=found.append)
    assert [str(error) for error in found] == ["no"]


@virtual_time
async def test_an_event_ends_the_wait_for_it() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(3, event.set)
    began = now()
    assert await wait_for_event(event, VirtualClock(), 60)
    assert now() - began == 3


@virtual_time
async def test_a_timeout_ends_the_wait_for_an_event() -> None:
    began = now()
    assert not await wait_for_event(asyncio.Event(), VirtualClock(), 60)
    assert now() - began == 60


@virtual_time
async def test_without_a_timeout_an_event_is_waited_for_as_long_as_it_takes() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(100_000, event.set)
    assert await wait_for_event(event, VirtualClock(), None)


@virtual_time
async def test_tasks_that_are_late_are_returned_and_go_on() -> None:
    log: list[str] = []
    async with Scope() as scope:
        quick = scope.start(ends_after(1, log, "quick"))
        slow = scope.start(ends_after(9, log, "slow"))
        assert await wait_for_tasks([quick, slow], VirtualClock(), 5) == [slow]
        assert log == ["quick"]
        await slow
        assert not slow.cancelled()


@virtual_time
async def test_tasks_that_have_all_ended_end_the_wait() -> None:
    began = now()
    async with Scope() as scope:
        tasks = [scope.start(asyncio.sleep(n)) for n in (1, 2)]
        assert await wait_for_tasks(tasks, VirtualClock(), 60) == []
    assert now() - began == 2


def test_no_tasks_are_no_wait() -> None:
    assert asyncio.run(wait_for_tasks([], SystemClock(), 60)) == []
