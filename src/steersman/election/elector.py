"""Leader election as its users see it; what stands behind it (Lease, Raft, …) is an engine.

    async def work(leadership: Leadership) -> None:
        ...                                   # cancelled when leadership is lost

    await elector.run(work)

Duties of an engine, checked by tests/conformance/election:
1. `is_leader` is true in at most one process at any moment. It is computed on the local clock when asked,
   so it turns false in time even in a process that is suspended or cut off.
2. When leadership is lost `work` is cancelled; the engine contends again only after `work` has ended.
3. The lock is given up only after `work` has ended, whether it returned, failed or was cancelled.
4. Every leadership has a higher `term` than all before it: a fencing token.
5. When `work` returns, `run` gives the lock up and returns; when `work` fails, `run` raises that. When
   `run` is cancelled it does the same.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Awaitable, Callable
from typing import Protocol

from steersman.election.errors import LeadershipLost

__all__ = ["Elector", "Leadership", "Work", "default_identity"]


class Leadership:
    """One term of leading. `valid` is what to ask right before doing what only a leader may do."""

    __slots__ = ("_valid", "identity", "term")

    def __init__(self, identity: str, term: int, valid: Callable[[], bool]) -> None:
        self.identity = identity
        self.term = term
        self._valid = valid

    @property
    def valid(self) -> bool:
        """Whether this process leads at this moment, in this very term."""
        return self._valid()

    def check(self) -> None:
        """Raise `LeadershipLost` unless `valid`."""
        if not self._valid():
            raise LeadershipLost(f"{self.identity} no longer leads in term {self.term}")

    def __repr__(self) -> str:
        return f"<Leadership {self.identity} term={self.term} valid={self.valid}>"


Work = Callable[[Leadership], Awaitable[None]]


class Elector(Protocol):
    """One contender for one lock."""

    @property
    def name(self) -> str:
        """What is contended for, as metrics and logs show it."""
        ...

    @property
    def identity(self) -> str:
        """Who this contender is; no other contender's is the same."""
        ...

    @property
    def is_leader(self) -> bool: ...

    @property
    def term(self) -> int:
        """The highest term known here: of this leadership, or of the leader last seen."""
        ...

    @property
    def leader(self) -> str:
        """Who leads as far as is known here; empty if nobody does."""
        ...

    @property
    def leads_for_s(self) -> float:
        """How long this process leads on without another renewal; 0 if it does not lead."""
        ...

    def hurry(self) -> None:
        """The lock may be free any moment: a follower looks now, and often for a while."""
        ...

    async def run(self, work: Work) -> None:
        """Contend until `work` has run to its end under an unbroken leadership."""
        ...

    def check(self) -> str:
        """Empty, or what is wrong: work that goes on though leadership is lost."""
        ...


def default_identity() -> str:
    """The host's (in a pod, the pod's) name and something no other process has."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4()}"
