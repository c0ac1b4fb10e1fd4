"""Leads when this process's Raft node does.

| state     | happens                  | next      |                                                  |
|-----------|--------------------------|-----------|--------------------------------------------------|
| following | the node has a lease     | leading   | the work begins, in the node's term              |
| leading   | the lease ends, any term | lost      | the work is cancelled, the node stops contending |
|           | the work has ended       | released  | the node hands over; `run` returns               |
| lost      | the work has ended       | following | the node contends again                          |

The node's lease is counted from when the heartbeat was sent that a majority has answered, and is shorter than
the time any of them waits before it votes for somebody else. Raft's term is the fencing token: between two
leaderships the node steps down, so that no term is used twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence

from steersman.aio import Clock, Scope, SystemClock
from steersman.election.elector import Leadership, Work
from steersman.election.leading import contend, late_work
from steersman.election.raft.replicas import ReplicaFollower
from steersman.raft.manager import RaftNodeManager
from steersman.raft.node import Lease

__all__ = ["RaftElector"]

_log = logging.getLogger(__name__)

#: Work that goes on for so long after its leadership has ended is trouble.
_GRACE_S = 2.0


class RaftElector:
    """A contender whose node is `manager`. One that is not running is started and stopped by `run`; one that
    runs already must not be contending."""

    def __init__(
        self,
        manager: RaftNodeManager,
        *,
        clock: Clock | None = None,
        follower: ReplicaFollower | None = None,
    ) -> None:
        """`follower` keeps the cluster as large as the StatefulSet, while this process leads."""
        self.manager = manager
        self._follower = follower
        self._clock = clock or SystemClock()
        #: The term in which the work runs; 0 if none does.
        self._term = 0
        self._lost_at: float | None = None
        self._running = False

    @property
    def name(self) -> str:
        return self.manager.config.settings.cluster

    @property
    def identity(self) -> str:
        return self.manager.name

    @property
    def is_leader(self) -> bool:
        return self._term != 0 and self._leads(self._term)

    @property
    def leads_for_s(self) -> float:
        """How long this process surely leads on if no other member answers; 0 if it does not lead."""
        return max(0.0, self.manager.lease.until - self._clock.monotonic()) if self.is_leader else 0.0

    @property
    def term(self) -> int:
        return self.manager.term

    @property
    def leader(self) -> str:
        return self.manager.leader

    def hurry(self) -> None:
        """Nothing to be done: a leader that lets go names its successor."""

    def check(self) -> str:
        late = late_work(self._lost_at, self._clock.monotonic(), _GRACE_S)
        return late or self.manager.trouble()

    def _leads(self, term: int) -> bool:
        lease = self.manager.lease
        return lease.term == term and self._clock.monotonic() < lease.until

    async def run(self, work: Work) -> None:
        """Contend; run `work` whenever elected; return when `work` has returned and another may lead."""
        if self._running:
            raise RuntimeError("the elector is running already")
        self._running = True
        started = not self.manager.running
        try:
            if started:
                await self.manager.start()
            async with Scope(on_error=lambda _: None) as scope:
                await contend(
                    self.name,
                    scope,
                    work,
                    win=self._win,
                    keep=lambda term, worker: [self._keep(term, worker), self._follow()],
                    stop=self._stop,
                )
        finally:
            self._term = 0
            self._lost_at = None
            try:
                await (self.manager.stop() if started else self.manager.contend(False))
            finally:
                self._running = False

    async def _win(self) -> Leadership:
        """Wait until this node leads."""
        await self.manager.contend(True)
        async for lease in self.manager.watch():
            if self._leads(lease.term):
                term = self._term = lease.term
                break
        _log.info("%s leads %s in term %d", self.identity, self.name, term)
        return Leadership(self.identity, term, lambda: self._term == term and self._leads(term))

    async def _stop(self, keepers: Sequence[asyncio.Task[None]]) -> bool:
        """The work has ended: whether this node has led until now."""
        led = self.is_leader
        self._term = 0
        self._lost_at = None
        for keeper in keepers:
            keeper.cancel()
        return led

    async def _follow(self) -> None:
        if self._follower is not None:
            await self._follower.run(self.manager)

    async def _keep(self, term: int, worker: asyncio.Task[None]) -> None:
        """Wait for the end of the lease, then cancel the work and let others lead."""
        try:
            async with Scope() as scope:
                changes = self.manager.watch()
                change = scope.start(_next(changes), name="election change")
                while self._leads(term):
                    # The lease is prolonged all the time; only at its end is it worth a look.
                    rest_s = max(0.0, self.manager.lease.until - self._clock.monotonic())
                    rest = scope.start(self._clock.sleep(rest_s), name="election lease")
                    await asyncio.wait((change, rest), return_when=asyncio.FIRST_COMPLETED)
                    rest.cancel()
                    if change.done():
                        change = scope.start(_next(changes), name="election change")
            self._lost_at = self._clock.monotonic()
            _log.warning("%s no longer leads %s in term %d", self.identity, self.name, term)
        finally:
            worker.cancel()
        await self.manager.contend(False)


async def _next(changes: AsyncIterator[Lease]) -> Lease:
    return await anext(changes)
