"""Leads by a Lease object: sends what `core` asks for and runs the leader's work.

An API server that hangs makes a leader step down before the lease expires for others (`exchange` keeps the
deadlines). The work is a task of this engine: it is cancelled when leadership is lost, and the lease is
written again only after it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from steersman.aio import Clock, Scope, SystemClock
from steersman.client import Client
from steersman.election.elector import Leadership, Work, default_identity
from steersman.election.errors import ElectionConfigError
from steersman.election.leading import late_work
from steersman.election.lease.core import (
    Answer,
    Command,
    Elect,
    Event,
    Lease,
    LeaseCore,
    LeaseSettings,
    Lose,
    State,
    Stop,
    WorkEnded,
)
from steersman.election.lease.exchange import Exchange, ask
from steersman.election.lease.requests import Read, Tick, Write
from steersman.objects.resources import LEASES
from steersman.objects.times import format_micro_time

__all__ = ["LeaseElector"]

_log = logging.getLogger(__name__)


class LeaseElector:
    """A contender for the Lease `name` in `namespace` (the client's own if none is given)."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str | None = None,
        *,
        identity: str | None = None,
        settings: LeaseSettings | None = None,
        clock: Clock | None = None,
        rand: Callable[[], float] = random.random,
    ) -> None:
        """Without an `identity` one is made that no other process has."""
        if not name:
            raise ElectionConfigError("a lease needs a name")
        self.name = name
        self.namespace = namespace or client.namespace
        self.identity = identity or default_identity()
        self._client = client
        self._settings = settings or LeaseSettings()
        self._clock = clock or SystemClock()
        self._rand = rand
        self._core = LeaseCore(self.identity, self._settings, rand)
        self._lost_at: float | None = None
        self._running = False
        self._contest: _Contest | None = None

    @property
    def is_leader(self) -> bool:
        return self._core.leads(self._clock.monotonic())

    @property
    def leads_for_s(self) -> float:
        """How long this process leads on without another renewal; 0 if it does not lead."""
        return self._core.leads_for_s(self._clock.monotonic())

    @property
    def term(self) -> int:
        return self._core.term

    @property
    def leader(self) -> str:
        return self._core.holder

    def check(self) -> str:
        return late_work(self._lost_at, self._clock.monotonic(), self._settings.duration_s)

    def hurry(self) -> None:
        """The lease may be free any moment: a follower looks now, and often for a while."""
        self._core.hurry(self._clock.monotonic())
        if self._contest is not None:
            self._contest.look_at_clock()

    async def run(self, work: Work) -> None:
        """Contend; run `work` whenever elected; return when `work` has returned and the lease is free."""
        if self._running:
            raise RuntimeError("the elector is running already")
        self._running = True
        core = self._core = LeaseCore(self.identity, self._settings, self._rand)
        try:
            async with Scope() as scope:
                self._contest = _Contest(self, core, scope, work)
                await self._contest.run()
        finally:
            self._running = False
            self._contest = None
            self._lost_at = None
            # Whatever way this ended, nobody leads here any more.
            core.state = State.RELEASED

    # for the contest

    @property
    def clock(self) -> Clock:
        return self._clock

    def note_loss(self, lost_at: float | None) -> None:
        self._lost_at = lost_at

    async def ask(self, command: Read | Write[Lease]) -> Answer:
        """The answer to one request; what is no answer is Unanswered."""
        return await ask(
            self._client,
            command,
            self.name,
            self.namespace,
            lease_of=_lease_of,
            object_of=lambda lease: _object_of(lease, self.name, self.namespace),
            on_error=lambda error: _log.warning("election %s/%s: %s", self.namespace, self.name, error),
        )


class _Contest:
    """One `run`: the tasks around a core, and what they report."""

    def __init__(self, elector: LeaseElector, core: LeaseCore, scope: Scope, work: Work) -> None:
        self._elector = elector
        self._core = core
        self._scope = scope
        self._work = work
        self._clock = elector.clock
        self._events: deque[Event] = deque([Tick()])
        self._happened = asyncio.Event()
        self._exchange = Exchange(
            f"election {elector.name}",
            scope,
            elector.clock,
            elector.ask,
            self._report,
            lambda: _log.warning("election %s: no answer in time", elector.name),
        )
        self._worker: asyncio.Task[None] | None = None
        self._returned = False
        self._failure: BaseException | None = None
        self._cancelled: asyncio.CancelledError | None = None

    async def run(self) -> None:
        stopped = False
        while not stopped:
            await self._next()
            while self._events and not stopped:
                event = self._events.popleft()
                stopped = self._execute(
                    self._core.step(event, self._clock.monotonic(), self._wall())
                ) or self._is_over(event)
            self._exchange.wake_at(self._core.wake_at)
        if self._cancelled is not None:
            raise self._cancelled
        if self._failure is not None:
            raise self._failure

    def look_at_clock(self) -> None:
        """The core may want to do something earlier than it said."""
        self._report(Tick())

    def _is_over(self, event: Event) -> bool:
        """Whether there is nothing more to run: the work has ended for good, or nobody wants it to begin."""
        if self._worker is not None or self._core.state is not State.FOLLOWING:
            return False
        return self._cancelled is not None or self._returned or self._failure is not None

    async def _next(self) -> None:
        """Wait for an event. Being cancelled is one: the work is stopped first, then the lease freed."""
        while not self._events:
            self._happened.clear()
            try:
                await self._happened.wait()
            except asyncio.CancelledError as error:
                if self._cancelled is not None:
                    raise
                self._cancelled = error
                if self._worker is not None:
                    self._worker.cancel()
                elif self._core.state is State.FOLLOWING:
                    raise

    def _execute(self, commands: list[Command]) -> bool:
        for command in commands:
            match command:
                case Read() | Write():
                    self._exchange.send(command)
                case Elect(term):
                    self._elect(term)
                case Lose(why):
                    _log.warning("%s no longer leads %s: %s", self._core.identity, self._elector.name, why)
                    self._exchange.drop()
                    self._elector.note_loss(self._clock.monotonic())
                    if self._worker is not None:
                        self._worker.cancel()
                case Stop():
                    return True
        return False

    def _elect(self, term: int) -> None:
        core, clock = self._core, self._clock
        _log.info("%s leads %s in term %d", core.identity, self._elector.name, term)

        def valid() -> bool:
            return core.leads(clock.monotonic()) and core.term == term

        leadership = Leadership(core.identity, term, valid)
        self._worker = self._scope.start(self._do_work(leadership), name=f"leader {self._elector.name}")
        self._worker.add_done_callback(self._work_ended)

    async def _do_work(self, leadership: Leadership) -> None:
        try:
            await self._work(leadership)
            self._returned = True
        except asyncio.CancelledError:
            # By the contest, which knows why; or by the work itself, which then has failed.
            if self._cancelled is None and leadership.valid:
                self._failure = RuntimeError("the leader's work cancelled itself")
        except BaseException as error:  # noqa: BLE001 (raised by `run`)
            self._failure = error

    def _work_ended(self, _: asyncio.Task[None]) -> None:
        self._worker = None
        self._elector.note_loss(None)
        self._report(WorkEnded())

    def _report(self, event: Event) -> None:
        self._events.append(event)
        self._happened.set()

    def _wall(self) -> str:
        return format_micro_time(datetime.fromtimestamp(self._clock.wall(), UTC))


def _lease_of(obj: dict[str, Any]) -> Lease:
    spec = obj.get("spec") or {}
    return Lease(
        holder=spec.get("holderIdentity") or "",
        duration_s=spec.get("leaseDurationSeconds") or 0,
        transitions=spec.get("leaseTransitions") or 0,
        acquired=spec.get("acquireTime") or "",
        renewed=spec.get("renewTime") or "",
        version=obj["metadata"]["resourceVersion"],
        object=obj,
    )


def _object_of(lease: Lease, name: str, namespace: str) -> dict[str, Any]:
    """The object to store: what it was read from, with our fields as they shall be."""
    base = lease.object or {}
    metadata = {**base.get("metadata", {}), "name": name, "namespace": namespace}
    if lease.version:
        metadata["resourceVersion"] = lease.version
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": metadata,
        "spec": {
            **(base.get("spec") or {}),
            "holderIdentity": lease.holder,
            "leaseDurationSeconds": int(lease.duration_s),
            "leaseTransitions": lease.transitions,
            "acquireTime": lease.acquired,
            "renewTime": lease.renewed,
        },
    }
