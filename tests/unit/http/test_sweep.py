"""The coarse timer."""

from __future__ import annotations

import asyncio

from steersman.http.sweep import NEVER, Sweeper


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
