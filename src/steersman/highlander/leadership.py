"""The states of a tenant's controller between two contests for the lock, and what leads from one to the next.

| state      | step         | next       |                                                          |
|------------|--------------|------------|----------------------------------------------------------|
| resting    | contend      | contending | nothing speaks against it                                |
| contending | lead         | leading    | elected, and caches are up to date                       |
|            | let_go       | letting go | the contest is given up                                  |
| leading    | lose         | contending | the lock could not be kept; the elector contends again   |
|            | let_go       | letting go | workloads stop; the lock is released when they are gone  |
|            | give_up      | giving up  | the lock is released though workloads may still run      |
| letting go | give_up      | giving up  |                                                          |
| all        | end          | resting    | the contest is over                                      |

A step that is not in the table changes nothing: who is letting go already is told so again in vain.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Final

__all__ = ["LeadershipState", "Step", "Steps"]


class LeadershipState(Enum):
    RESTING = auto()
    CONTENDING = auto()
    LEADING = auto()
    LETTING_GO = auto()
    GIVING_UP = auto()


class Step(Enum):
    CONTEND = auto()
    LEAD = auto()
    LOSE = auto()
    LET_GO = auto()
    GIVE_UP = auto()
    END = auto()


_S = LeadershipState
_NEXT: Final = {
    (_S.RESTING, Step.CONTEND): _S.CONTENDING,
    (_S.CONTENDING, Step.LEAD): _S.LEADING,
    (_S.CONTENDING, Step.LET_GO): _S.LETTING_GO,
    (_S.LEADING, Step.LOSE): _S.CONTENDING,
    (_S.LEADING, Step.LET_GO): _S.LETTING_GO,
    (_S.LEADING, Step.GIVE_UP): _S.GIVING_UP,
    (_S.LETTING_GO, Step.GIVE_UP): _S.GIVING_UP,
    **{(state, Step.END): _S.RESTING for state in _S},
}


class Steps:
    """The state now, and who waits for another."""

    def __init__(self) -> None:
        self.state = LeadershipState.RESTING
        self._changed = asyncio.Event()

    def take(self, step: Step) -> None:
        following = _NEXT.get((self.state, step), self.state)
        if following is not self.state:
            self.state = following
            self._changed.set()

    @property
    def contends(self) -> bool:
        """Whether a contest is under way, as its leader or not."""
        return self.state is not LeadershipState.RESTING

    @property
    def ends(self) -> bool:
        """Whether the contest that is under way is about to end."""
        return self.state in (LeadershipState.LETTING_GO, LeadershipState.GIVING_UP)

    async def until_letting_go(self) -> None:
        await self._until(LeadershipState.LETTING_GO, LeadershipState.GIVING_UP)

    async def until_giving_up(self) -> None:
        await self._until(LeadershipState.GIVING_UP)

    async def _until(self, *states: LeadershipState) -> None:
        while self.state not in states:
            self._changed.clear()
            await self._changed.wait()
