"""Things that are done later."""

from __future__ import annotations

import asyncio

import pytest

from steersman.aio import Scope
from steersman.cluster.node.timers import Timers
from steersman.testing import VirtualClock, virtual_time


@virtual_time
async def test_calls_come_in_order_and_can_be_replaced_or_cancelled() -> None:
    timers = Timers(VirtualClock())
    done: list[str] = []
    async with Scope() as scope:
        scope.start(timers.run())
        for name, delay_s in (("c", 30), ("a", 10), ("b", 20), ("never", 15)):
            timers.after(delay_s, name, lambda name=name: done.append(name))
        await asyncio.sleep(5)
        timers.cancel("never")
        timers.after(1, "c", lambda: done.append("sooner"))
        assert len(timers) == 3
        await asyncio.sleep(100)
        assert done == ["sooner", "a", "b"]
        timers.after(1, "late", lambda: done.append("late"))
        await asyncio.sleep(2)
        assert done[-1] == "late"


@virtual_time
async def test_a_call_that_fails_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    timers = Timers(VirtualClock())
    done: list[str] = []
    async with Scope() as scope:
        scope.start(timers.run())
        timers.after(1, "bad", lambda: done.remove("absent"))
        timers.after(1, "good", lambda: done.append("good"))
        await asyncio.sleep(2)
    assert done == ["good"]
    assert "ValueError" in caplog.text
