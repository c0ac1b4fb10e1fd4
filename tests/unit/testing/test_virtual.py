"""Virtual time: it passes when there is nothing to do, and only then."""

from __future__ import annotations

import asyncio
import inspect
import time

import pytest

from steersman.testing import VirtualClock, run_virtual, virtual_time
from steersman.testing.virtual import EPOCH


@virtual_time
async def test_a_day_passes_at_once() -> None:
    clock = VirtualClock()
    before = time.monotonic()
    await clock.sleep(86_400)
    assert clock.monotonic() == pytest.approx(86_400)
    assert clock.wall() == pytest.approx(EPOCH + 86_400)
    assert time.monotonic() - before < 10


@virtual_time
async def test_no_time_passes_while_there_is_something_to_do() -> None:
    clock = VirtualClock()
    for _ in range(1000):
        await asyncio.sleep(0)
    assert clock.monotonic() == 0


@virtual_time
async def test_advance_ends_after_the_last_thing_that_is_due() -> None:
    clock = VirtualClock()
    done: list[str] = []

    async def work(name: str, delay_s: float) -> None:
        await clock.sleep(delay_s)
        for _ in range(50):
            await asyncio.sleep(0)
        done.append(name)

    async with asyncio.TaskGroup() as group:
        for delay_s in (1, 10, 10.5):
            group.create_task(work(f"after {delay_s} s", delay_s))
        await clock.advance(9.999)
        assert done == ["after 1 s"]
        await clock.advance(0.001)
        assert done == ["after 1 s", "after 10 s"]
        assert clock.monotonic() == pytest.approx(10)


@virtual_time
async def test_settle_lets_no_time_pass() -> None:
    clock = VirtualClock()
    done = asyncio.Event()

    async def work() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        done.set()
        await clock.sleep(1)

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        await clock.settle()
        assert done.is_set()
        assert clock.monotonic() == 0


@virtual_time
async def test_timers_come_in_order_of_their_times() -> None:
    order: list[int] = []
    loop = asyncio.get_running_loop()
    for number in (5, 3, 9, 1):
        loop.call_later(number, order.append, number)
    await VirtualClock().advance(10)
    assert order == [1, 3, 5, 9]


@virtual_time
async def test_the_wall_clock_can_be_moved() -> None:
    clock = VirtualClock()
    clock.wall_shift_s = -3600
    assert clock.wall() == EPOCH - 3600
    assert clock.monotonic() == 0


@virtual_time
async def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        await VirtualClock().advance(-1)


@virtual_time
async def test_threads_are_not_waited_for() -> None:
    assert await asyncio.to_thread(lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(lambda: 1 / 0)
    assert VirtualClock().monotonic() == 0


def test_a_deadlock_is_an_error() -> None:
    async def wait_for_ever() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="all tasks wait"):
        run_virtual(wait_for_ever())


def test_real_time_cannot_be_advanced() -> None:
    with pytest.raises(RuntimeError, match="@virtual_time"):
        asyncio.run(VirtualClock().advance(0))


def test_a_decorated_test_keeps_its_name_and_arguments() -> None:
    async def test(fixture: str) -> str:
        """Says."""
        return fixture

    plain = virtual_time(test)
    assert plain("x") == "x"
    assert (plain.__name__, plain.__doc__) == ("test", "Says.")
    assert [*inspect.signature(plain).parameters] == ["fixture"]
    assert not inspect.iscoroutinefunction(plain)
