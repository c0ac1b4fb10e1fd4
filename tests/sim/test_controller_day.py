"""A day in the life of a controller, in virtual time."""

from __future__ import annotations

import asyncio

from steersman.aio import Scope
from steersman.runtime.controller import Controller
from steersman.runtime.keys import Key
from steersman.runtime.requests import Request, Result
from tests.sim.virtual_time import VirtualClock, run_virtual

DAY_S = 86_400.0


def test_a_day_of_failures_requeues_and_hangs_stays_bounded() -> None:
    calls: dict[str, list[float]] = {"fails": [], "requeues": [], "hangs": [], "is fine": []}

    async def reconcile(request: Request) -> Result:
        calls[request.name].append(asyncio.get_running_loop().time())
        match request.name:
            case "fails":
                raise ValueError("every time")
            case "requeues":
                return Result.requeue(300)
            case "hangs":
                await asyncio.Event().wait()
        return Result.done()

    async def main() -> None:
        controller = Controller("day", reconcile, clock=VirtualClock(), timeout_s=60, concurrency=2)
        async with Scope() as scope:
            scope.start(controller.run())
            await asyncio.sleep(0)
            for name in calls:
                controller.enqueue(Key("", name), "start")
            await asyncio.sleep(DAY_S - 1)
            scope.cancel()

    run_virtual(main())
    waits = [later - earlier for earlier, later in zip(calls["fails"], calls["fails"][1:], strict=False)]
    assert waits[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert set(waits[9:]) == {300}
    assert len(calls["requeues"]) == DAY_S / 300
    assert 230 < len(calls["hangs"]) < 260, "one try every six minutes"
    assert len(calls["is fine"]) == 1


def test_events_every_second_do_not_inflate_the_backoff_nor_starve_it() -> None:
    times: list[float] = []

    async def reconcile(request: Request) -> None:
        if "retry" in request.reasons:
            times.append(asyncio.get_running_loop().time())
        raise ValueError("still broken")

    async def main() -> None:
        controller = Controller("noisy", reconcile, clock=VirtualClock())
        async with Scope() as scope:
            scope.start(controller.run())
            await asyncio.sleep(0.5)
            for _ in range(3600):
                controller.enqueue(Key("", "noisy"), "event")
                await asyncio.sleep(1)
            scope.cancel()

    run_virtual(main())
    assert len(times) >= 18, "retries come when they are due, whatever happens between"
