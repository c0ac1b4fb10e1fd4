"""The coarse timer."""

from __future__ import annotations

import asyncio
from typing import Any

from steersman.http.sweep import NEVER, Sweeper
from steersman.testing import virtual_time


class Member:
    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.expired = asyncio.Event()

    def expire(self) -> None:
        self.deadline = NEVER
        self.expired.set()


def test_only_members_past_their_deadline_expire() -> None:
    async def main() -> None:
        sweeper = Sweeper(0.01)
        due, other = Member(sweeper.now + 0.02), Member(NEVER)
        sweeper.members |= {due, other}
        await asyncio.wait_for(due.expired.wait(), 5)
        assert not other.expired.is_set()
        assert sweeper.date.startswith(b"Date: ")
        assert sweeper.date.endswith(b" GMT\r\n")
        sweeper.stop()

    asyncio.run(main())


@virtual_time
async def test_a_server_that_nobody_talks_to_wakes_nobody() -> None:
    loop = asyncio.get_running_loop()
    sweeper = Sweeper(0.25)
    idle = Member(sweeper.now + 60)
    sweeper.members.add(idle)
    sweeps = _count_timers(loop)
    await idle.expired.wait()
    assert loop.time() == 60
    assert len(sweeps) <= 3
    await asyncio.sleep(86_400)
    assert len(sweeps) <= 4


@virtual_time
async def test_a_deadline_that_comes_nearer_is_kept() -> None:
    loop = asyncio.get_running_loop()
    sweeper = Sweeper(0.25)
    member = Member(sweeper.now + 3600)
    sweeper.members.add(member)
    await asyncio.sleep(100)
    assert sweeper.now == loop.time()
    member.deadline = sweeper.now + 2
    await member.expired.wait()
    assert 102 <= loop.time() <= 102.25
    sweeper.stop()


def _count_timers(loop: asyncio.AbstractEventLoop) -> list[float]:
    """When the loop is asked to wake somebody, from now on."""
    asked: list[float] = []
    call_at = loop.call_at

    def note(when: float, *arguments: Any, **options: Any) -> asyncio.TimerHandle:
        asked.append(when)
        return call_at(when, *arguments, **options)

    loop.call_at = note  # type: ignore[method-assign]
    return asked
