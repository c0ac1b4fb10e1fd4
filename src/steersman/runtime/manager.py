"""The manager: everything an operator's process runs, started and stopped in order.

    start                                    stop (the other way round)
    -------------------------------------    ------------------------------------------------
    1 probes and metrics listen              6 the listener closes
    2 informers fill their caches            5 informers and services end
    3 the elector waits for leadership       4 the lease is given up
    4 caches have all the last leader did
    5 controllers run                        3 controllers start nothing more and are waited for

A standby has done 1 and 2: it is ready when it is elected. Its caches may be behind all the same (a watch
whose connection is lost is waited for), and a controller that does not see what the last leader did would do
it again: so everything is fetched once more before controllers run. Losing leadership cancels them and leads
back to 3. With a shard instead of an elector, 3 and 4 are the shard's: controllers run from the start, on the
objects that it owns. Whatever fails for good is raised by `run`, so that the process ends and says why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from steersman.aio import Clock, Scope, SystemClock, wait_for_tasks
from steersman.aio.signals import stopping_on_signals
from steersman.client import Client
from steersman.election import Elector, Leadership, LeadershipLost
from steersman.objects.resource_type import ResourceType
from steersman.runtime.controller import Controller
from steersman.runtime.events import Recorder
from steersman.runtime.informer import RESYNC_S
from steersman.runtime.informers import SYNC_TIMEOUT_S, Informers
from steersman.runtime.insight import PATH, Insight
from steersman.runtime.memory import give_back
from steersman.runtime.metrics import Metrics
from steersman.runtime.probes import Probes
from steersman.runtime.sharding import Shard

__all__ = ["Manager"]

_log = logging.getLogger(__name__)

_HEARTBEAT_S = 1.0
#: A loop that is later than this is blocked by something that should not block.
_LATE_S = 10.0
#: How long the last events may take to be sent.
_FLUSH_S = 5.0


@dataclass(frozen=True, slots=True)
class _Service:
    name: str
    run: Callable[[], Awaitable[None]]
    leader_only: bool


class Manager:
    """Runs controllers with shared caches, under an elector if there is one."""

    def __init__(
        self,
        client: Client,
        *,
        elector: Elector | None = None,
        clock: Clock | None = None,
        address: str | None = ":8080",
        grace_s: float = 30.0,
        resync_s: float = RESYNC_S,
        keep_managed_fields_of: Collection[str] = (),
        metrics: Metrics | None = None,
        absent_hints: Mapping[ResourceType, str] = MappingProxyType({}),
        lasting: bool = False,
    ) -> None:
        """`address` is where probes and metrics listen (`probes.parse_address`), None for nowhere.

        `grace_s` is how long running reconciles are waited for when stopping. Give the `metrics` whose
        `observe_requests` the client calls, if it does; `lasting` is as in `Informers`. `absent_hints` say
        how to have the API serve what it may not serve yet.
        """
        self.client = client
        self.elector = elector
        self.clock = clock or SystemClock()
        self.metrics = metrics or Metrics()
        self.probes = Probes(self.metrics)
        self.informers = Informers(
            client,
            self.clock,
            resync_s=resync_s,
            keep_managed_fields_of=keep_managed_fields_of,
            lasting=lasting,
        )
        self._address = address
        self._absent_hints = absent_hints
        self._grace_s = grace_s
        self._controllers: list[Controller] = []
        self._services: list[_Service] = []
        self._recorders: list[Recorder] = []
        self._stop = asyncio.Event()
        self._work_over = asyncio.Event()
        #: The scopes that run now: of what every replica runs, and of what only a leader does.
        self._scope: Scope | None = None
        self._leader_scope: Scope | None = None
        self._leadership: Leadership | None = None
        self._shard: Shard | None = None
        # In the API server's process, whoever asks is the one that would not answer.
        self._beats = not lasting
        self._beat = self.clock.monotonic()
        self._add_checks()

    # --- what to run

    def add(self, controller: Controller) -> Controller:
        """Run a controller while leading; at once if that is now."""
        if any(known.name == controller.name for known in self._controllers):
            raise ValueError(f"there is a controller {controller.name!r} already")
        self._controllers.append(controller)
        self.metrics.add_controller(controller.metrics)
        self.probes.add_live(f"controller-{controller.name}", controller.check)
        if self._leader_scope is not None:
            self._start_controller(self._leader_scope, controller)
        return controller

    def add_service(
        self, name: str, run: Callable[[], Awaitable[None]], *, leader_only: bool = False
    ) -> None:
        """Run something until the manager stops and it is cancelled; its failure ends the manager."""
        service = _Service(name, run, leader_only)
        self._services.append(service)
        scope = self._leader_scope if leader_only else self._scope
        if scope is not None:
            scope.start(_run(service), name=name)

    def add_recorder(self, recorder: Recorder) -> Recorder:
        """Send the recorder's events, also those recorded last before stopping."""
        self._recorders.append(recorder)
        self.add_service("events", recorder.run)
        return recorder

    def share(self, shard: Shard) -> Shard:
        """Work only while this process is a member of a shard. Instead of an elector."""
        if self.elector is not None or self._shard is not None:
            raise ValueError("a manager has one elector, or one shard")
        self._shard = shard
        self.metrics.add_shard(shard)
        self.probes.add_live("sharding", shard.health)
        return shard

    def check_leadership(self) -> None:
        """Raise `LeadershipLost` if this process may not write at this moment: it does not lead, or is no
        member of its shard any more."""
        if self._shard is not None:
            self._shard.check()
        if self.elector is None:
            return
        if self._leadership is None:
            raise LeadershipLost(f"{self.elector.identity} does not lead")
        self._leadership.check()

    @property
    def leadership(self) -> Leadership | None:
        """The term that controllers act in now; None while standing by, or without an elector."""
        return self._leadership

    @property
    def is_leader(self) -> bool:
        """Whether controllers may act here: always if there is no elector."""
        return self.elector is None or self.elector.is_leader

    # --- running

    async def run(self) -> None:
        """Run, once, until `stop` is called. Being cancelled is the same without waiting for reconciles."""
        if self._scope is not None:
            raise RuntimeError("the manager is running already")
        try:
            if self._address is not None:
                await self.probes.start(self._address)
            async with Scope() as scope:
                self._scope = scope
                if self._beats:
                    scope.start(self._keep_beating(), name="heartbeat")
                scope.start(self.informers.run(), name="informers")
                for service in self._services:
                    if not service.leader_only:
                        scope.start(_run(service), name=service.name)
                if await self._synced():
                    await self._lead()
                await self._flush()
        finally:
            self._scope = None
            await self.probes.close()

    async def run_until_signalled(self) -> None:
        """`run` for a program of its own: SIGTERM and SIGINT stop it, a second one ends it at once."""
        with stopping_on_signals(self.stop):
            await self.run()

    def stop(self) -> None:
        """Have `run` end in order."""
        self._stop.set()

    async def _synced(self) -> bool:
        """Wait for the caches. False if asked to stop before."""
        while not self._stop.is_set():
            async with Scope() as scope:
                waiting = scope.start(self.informers.wait_synced(SYNC_TIMEOUT_S))
                await asyncio.wait((waiting, scope.start(self._stop.wait())), return_when="FIRST_COMPLETED")
            if waiting.cancelled():
                return False
            missing = waiting.result()
            absent = {str(informer): informer.resource for informer in self.informers if informer.absent}
            for name, resource in sorted(absent.items()):
                hint = self._absent_hints.get(resource, "")
                _log.warning("waiting for the API server to serve %s%s", name, hint and f"; {hint}")
            if not set(missing) - absent.keys():
                give_back()
                return True
            _log.error("still waiting for %s", ", ".join(missing))
        return False

    async def _lead(self) -> None:
        if self._shard is not None:
            await self._shard.run(partial(self._work, None))
            return
        if self.elector is None:
            await self._work(None)
            return
        async with Scope() as scope:
            contest = scope.start(self.elector.run(self._work), name="elector")
            stopping = scope.start(self._stop.wait())
            await asyncio.wait((contest, stopping), return_when="FIRST_COMPLETED")
            if self._leader_scope is not None:
                await self._work_over.wait()
            contest.cancel()
            await asyncio.wait((contest,))

    async def _work(self, leadership: Leadership | None) -> None:
        """What a leader does, until told to stop; cancelled when leadership is lost."""
        if leadership is not None:
            await self.informers.refresh()
        self._work_over.clear()
        self._leadership = leadership
        try:
            async with Scope() as scope:
                self._leader_scope = scope
                for service in self._services:
                    if service.leader_only:
                        scope.start(_run(service), name=service.name)
                running = [self._start_controller(scope, controller) for controller in self._controllers]
                await self._stop.wait()
                for controller in self._controllers:
                    controller.stop(self._grace_s)
                if running:
                    await asyncio.wait(running)
        finally:
            self._leader_scope = None
            self._leadership = None
            self._work_over.set()

    def _start_controller(self, scope: Scope, controller: Controller) -> asyncio.Task[None]:
        leadership = self._leadership
        may_act = None if leadership is None else lambda: leadership.valid
        return scope.start(controller.run(may_act=may_act), name=f"controller {controller.name}")

    async def _flush(self) -> None:
        async with Scope() as scope:
            sending = [scope.start(recorder.flush()) for recorder in self._recorders]
            await wait_for_tasks(sending, self.clock, _FLUSH_S)

    # --- health

    def _add_checks(self) -> None:
        self.probes.add_page(PATH, Insight(self._controllers, lambda: self.is_leader).serve)
        self.probes.add_live("event-loop", self._check_beat)
        if self.elector is not None:
            elector = self.elector
            self.metrics.add_elector(elector.name, lambda: elector.is_leader)
            self.probes.add_live("leader-election", elector.check)
        self.probes.add_ready("informer-sync", self._check_informers)
        self.probes.add_ready("shutdown", self._check_shutdown)

    async def _keep_beating(self) -> None:
        while True:
            self._beat = self.clock.monotonic()
            await self.clock.sleep(_HEARTBEAT_S)

    def _check_beat(self) -> str:
        if self._scope is None or not self._beats:
            return ""
        late_s = self.clock.monotonic() - self._beat - _HEARTBEAT_S
        return f"the event loop is {late_s:.0f} s late" if late_s > _LATE_S else ""

    def _check_informers(self) -> str:
        if self._scope is None:
            return "not started"
        missing = [str(informer) for informer in self.informers if not informer.synced]
        return f"not synced: {', '.join(missing)}" if missing else ""

    def _check_shutdown(self) -> str:
        return "stopping" if self._stop.is_set() else ""


async def _run(service: _Service) -> None:
    await service.run()
