"""The life of one tenant: contend for its lock, run its workloads while leading, stop them before letting go.

    following     somebody else leads, or nobody yet; the caches are kept up to date
    taking over   elected: caches are fetched anew, copies of earlier epochs are stopped and waited for
    leading       a runner for each workload; what left the configuration is pruned
    stopping      step-down, drain, end of the process: all workloads stop, are seen to be gone, and only then
                  is the lock released
    lost          the lock could not be renewed: runners are cancelled at once (well before another can have
                  the lock); workloads are asked to stop, or left, as `onLoss` says

Why there are never two copies: whoever starts a copy has the lock, in the highest epoch there is, has seen
that no copy of another epoch lives (`workloads.copies` says what counts as proof), and starts it under a name
that can be there only once. What a former leader sends late finds its object changed, or its name taken.

`leadership` has the states of one contest and the steps between them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from steersman.aio import Clock, Scope, SystemClock, wait_for_event, wait_for_tasks
from steersman.client import Client, ClientError
from steersman.election import Leadership, LeadershipLost
from steersman.highlander.abandoned import Abandoned
from steersman.highlander.config.models import TenantConfig
from steersman.highlander.config.specs import WorkloadSpec
from steersman.highlander.errors import ConfigError, NotLeader
from steersman.highlander.failback import Failback
from steersman.highlander.leadership import Step, Steps
from steersman.highlander.live import LiveObjects
from steersman.highlander.pausing import load_paused, save_paused
from steersman.highlander.pruning import prune
from steersman.highlander.runner import Runner, RunnerContext
from steersman.highlander.showing import observed
from steersman.highlander.state import Board, ControllerPhase, ControllerState, WorkloadPhase
from steersman.highlander.stopping import stop
from steersman.highlander.storage import Held, Storage, StorageDown
from steersman.highlander.workloads.objects import Part, parts
from steersman.highlander.workloads.ownership import MANAGER, Stamp, WorkloadKey
from steersman.objects.resources import PODS
from steersman.runtime import Writes

__all__ = ["Tenant"]

_log = logging.getLogger(__name__)

#: How often storage and cluster are asked how they are.
_HEALTH_S = 5.0
#: How often a leader looks for what it need not have any more, beside at every change of configuration.
_PRUNE_S = 60.0
#: Between two looks at who leads.
_LOOK_S = 1.0

#: What a running controller cannot change.
_FIXED = (
    "tenant",
    "storage_type",
    "redis",
    "database_url",
    "database_url_file",
    "lease",
    "raft",
    "cluster",
    "priority",
)

Specs = dict[WorkloadKey, WorkloadSpec]


@dataclass(slots=True)
class _Reigning:
    """What there is while this controller leads."""

    context: RunnerContext
    scope: Scope
    runners: dict[WorkloadKey, Runner]
    tasks: dict[WorkloadKey, asyncio.Task[None]]
    since: float


class Tenant:
    """`run` until `stop` is called. Also what people may have it do (`state.Controls`)."""

    def __init__(
        self,
        config: TenantConfig,
        client: Client,
        live: LiveObjects,
        *,
        election_client: Client | None = None,
        clock: Clock | None = None,
        reload: Callable[[], None] | None = None,
    ) -> None:
        """`live` is run by the caller. `reload` reads the configuration again and calls `configure`.

        Elections are held by `election_client`, where renewals do not queue behind work on workloads.
        """
        self._config = config
        self._client = client
        self._live = live
        self._clock = clock or SystemClock()
        self._reload = reload
        self.board = Board(self._first_state(), self._clock.wall)
        self._identity = self.board.controller.owner
        self._storage = Storage(config, self._identity, election_client or client, self._clock)
        self._elector = self._storage.elector
        self.board.measure_margin(lambda: self._elector.leads_for_s)
        self._failback = Failback(config, self._storage, self._clock, self._is_well)
        self._abandoned = Abandoned(client, live, config.tenant, self._clock)
        self._extra: Specs = {}
        self._paused: set[str] = set()
        self._reigning: _Reigning | None = None
        self._leadership = Steps()
        self._stopped = False
        #: Whether workloads outlive this controller's end.
        self._leave = False
        self._drained = False
        self._changed = asyncio.Event()
        self._reason = ""
        self._reconsidered = asyncio.Event()
        #: After a step-down others may take over, until then.
        self._rests_until = 0.0
        self._pause_s = 0.0
        #: Since when the cluster cannot be reached.
        self._unreached_since: float | None = None
        #: Who held the lock when its store was last asked.
        self._held = Held()

    @property
    def name(self) -> str:
        return self._config.tenant

    @property
    def leads(self) -> bool:
        """Whether this controller is at work as the leader at this moment."""
        return self._reigning is not None and self._elector.is_leader

    @property
    def specs(self) -> Specs:
        """All workloads: of the configuration, and those that custom resources add."""
        namespace = self._config.namespace
        found: Specs = {
            WorkloadKey(spec.kind, spec.namespace or namespace, spec.name): spec
            for spec in self._config.workloads
            if spec.workload_crd_ref is None
        }
        return {**self._extra, **found}

    @property
    def references(self) -> frozenset[tuple[str, str, str]]:
        """Custom resources that the file names as this tenant's: kind of workload, namespace and name."""
        return self._config.references

    @property
    def namespaces(self) -> set[str]:
        return {self._config.namespace, *(key.namespace for key in self.specs)}

    # life

    async def run(self) -> None:
        """Contend, lead, contend again, until `stop`."""
        end_listening = self._live.listen(self.name, self._workload_changed)
        try:
            async with Scope() as scope:
                scope.start(self._keep_looking(), name=f"tenant {self.name}: who leads")
                scope.start(self._keep_checking_cluster(), name=f"tenant {self.name}: cluster")
                scope.start(self._keep_checking_storage(), name=f"tenant {self.name}: storage")
                scope.start(self._keep_stopping_abandoned(), name=f"tenant {self.name}: abandoned copies")
                scope.start(self._failback.run(), name=f"tenant {self.name}: failback")
                await self._live.informers.wait_synced()
                self._show_all()
                while not self._stopped:
                    await self._contend()
        finally:
            end_listening()
            self.board.change(phase=ControllerPhase.STOPPED, is_leader=False)

    def stop(self, reason: str = "the controller stops", *, leave: bool = False) -> None:
        """Have `run` end: the workloads stop and are gone (with `leave` they stay), the lock is released."""
        self._leave = leave
        self._end_leading(reason)
        self._stopped = True
        self._reconsidered.set()

    async def _contend(self) -> None:
        """One contest and what follows, or the wait for a time to contend."""
        self._reconsidered.clear()
        if why_not := self._why_not():
            phase = ControllerPhase.DRAINED if self._drained else ControllerPhase.FOLLOWING
            self.board.change(phase=phase, phase_detail=why_not)
            await self._rest()
            return
        self.board.change(phase=ControllerPhase.FOLLOWING, phase_detail="")
        self._leadership.take(Step.CONTEND)
        async with Scope() as scope:
            contest = scope.start(self._elector.run(self._lead), name=f"tenant {self.name}: election")
            letting_go = scope.start(self._leadership.until_letting_go())
            await asyncio.wait((contest, letting_go), return_when=asyncio.FIRST_COMPLETED)
            if self._reigning is not None:
                # A leader lets go by itself, when its workloads are gone.
                giving_up = scope.start(self._leadership.until_giving_up())
                await asyncio.wait((contest, giving_up), return_when=asyncio.FIRST_COMPLETED)
            if not contest.done():
                contest.cancel()
                await asyncio.wait((contest,))
        self._leadership.take(Step.END)
        self._note_loss(self._reason or "stepped down")
        self._rests_until = self._clock.monotonic() + self._pause_s

    def _why_not(self) -> str:
        """Why this controller does not contend now; empty if it does."""
        if self._drained:
            return "drained"
        if self._config.remains_follower:
            return "remains a follower"
        if self._clock.monotonic() < self._rests_until:
            return "others may lead for a while"
        if not self._storage.is_apart:
            return ""
        if self._unreached_since is not None:
            return "the cluster cannot be reached"
        return f"{self._failback.preferred} should lead" if self._failback.preferred else ""

    def _is_well(self) -> bool:
        """Whether this controller could lead."""
        return self._leadership.contends and self._unreached_since is None

    async def _rest(self) -> None:
        """Until things are different, or a pause is over."""
        pause_s = self._rests_until - self._clock.monotonic()
        await wait_for_event(self._reconsidered, self._clock, pause_s if pause_s > 0 else None)

    def _reconsider(self) -> None:
        """Lead, or contend, only as long as that is right as things are now."""
        self._reconsidered.set()
        reigning = self._reigning
        if reigning is not None and self._has_to_give_up():
            self._end_leading("its cluster cannot be reached")
            self._leadership.take(Step.GIVE_UP)
        if self._leadership.ends:
            return
        if reigning is None:
            if self._leadership.contends and (why_not := self._why_not()):
                self._end_leading(why_not)
        elif self._failback.is_due(reigning.since):
            self._end_leading(f"hands over to {self._failback.preferred}")

    def _has_to_give_up(self) -> bool:
        limit, since = self._config.election.give_up_after, self._unreached_since
        if limit is None or since is None or not self._storage.is_apart:
            return False
        return self._clock.monotonic() - since >= limit.total_seconds()

    # leading

    async def _lead(self, leadership: Leadership) -> None:
        """The elector's work: returns when everything has stopped, is cancelled when leadership is lost."""
        self._note_win(leadership)
        stamp = Stamp(self.name, self.board.controller.id, self._config.cluster.name, leadership.term)
        context = RunnerContext(
            self._client, self._live, leadership, stamp, self.board, self._clock, self._default_grace_s()
        )
        began = self._clock.monotonic()
        runners: dict[WorkloadKey, Runner] = {}
        try:
            await self._take_over()
            async with Scope() as scope:
                self._reigning = _Reigning(context, scope, runners, {}, self._clock.monotonic())
                self._leadership.take(Step.LEAD)
                self._run_workloads()
                self.board.change(phase=ControllerPhase.LEADING, phase_detail="")
                self.board.observe("failover_duration_seconds", self._clock.monotonic() - began)
                scope.start(self._keep_pruning(context), name=f"tenant {self.name}: pruning")
                await self._leadership.until_letting_go()
                if not self._leave:
                    await self._stop_all(self._reigning)
        except asyncio.CancelledError:
            self._reigning = None
            self._leadership.take(Step.LOSE)
            self._note_loss(self._reason or "the lock could not be kept")
            if self._config.on_loss == "stop":
                await self._stop_after_loss(runners, leadership.term)
            if not self._leadership.ends:
                raise
            # It was about to let go: there is nothing to contend for again.
        finally:
            self._reigning = None

    async def _take_over(self) -> None:
        self.board.change(phase=ControllerPhase.TAKING_OVER, phase_detail="reading what is there")
        async with Scope() as scope:
            paused = scope.start(self._load_paused())
            await self._live.refresh()
            self._paused = await paused

    async def _load_paused(self) -> set[str]:
        while True:
            try:
                return await load_paused(self._client, self.name, self._config.namespace)
            except ClientError as error:
                self.board.change(last_error=str(error))
                await self._clock.sleep(_LOOK_S)

    def _run_workloads(self) -> None:
        """A runner for each workload that has none; those that left the configuration are let go."""
        reigning = self._reigning
        if reigning is None:
            return
        specs = self.specs
        for key, spec in specs.items():
            runner = reigning.runners.get(key)
            if runner is not None:
                runner.change(spec)
                continue
            runner = Runner(spec, key, reigning.context, paused=str(key) in self._paused)
            reigning.runners[key] = runner
            reigning.tasks[key] = reigning.scope.start(runner.run(), name=f"workload {key}")
        for key in [key for key in reigning.runners if key not in specs]:
            del reigning.runners[key]
            reigning.tasks.pop(key).cancel()
            self.board.forget(str(key))

    async def _stop_all(self, reigning: _Reigning) -> None:
        """Stop everything and return when nothing of the tenant runs any more."""
        self.board.change(phase=ControllerPhase.STOPPING, phase_detail="workloads stop")
        for task in reigning.tasks.values():
            task.cancel()
        if reigning.tasks:
            await asyncio.wait(reigning.tasks.values())
        async with Scope() as scope:
            for key, runner in reigning.runners.items():
                scope.start(runner.stop_until_gone(), name=f"stopping {key}")
            await scope.join()

    async def _stop_after_loss(self, keys: Iterable[WorkloadKey], epoch: int) -> None:
        """Ask for the end of what was ours, for a while; a later leader does it anyway."""
        writes = Writes(self._client, MANAGER, self._live.cache)

        async def stop_one(key: WorkloadKey) -> None:
            try:
                await stop(writes, self._live, self.name, key, epoch)
            except ClientError as error:
                _log.warning("%s of %s was not stopped: %s", key, self.name, error)

        async with Scope() as scope:
            stopping = [scope.start(stop_one(key)) for key in keys]
            await wait_for_tasks(stopping, self._clock, self._config.election.retry_period.total_seconds())

    async def _keep_pruning(self, context: RunnerContext) -> None:
        while True:
            self._changed.clear()
            wait_s = _PRUNE_S
            try:
                pruned = await prune(context.writes, self._live, self.name, lambda: self._wanted(context))
                if pruned:
                    _log.info("tenant %s: deleting %d objects that left the configuration", self.name, pruned)
            except LeadershipLost:
                return
            except ClientError as error:
                self.board.change(last_error=str(error))
                wait_s = _LOOK_S
            await wait_for_event(self._changed, self._clock, wait_s)

    def _wanted(self, context: RunnerContext) -> list[Part]:
        wanted: list[Part] = []
        for key, spec in self.specs.items():
            wanted += parts(spec, key, context.stamp, default_grace_s=context.default_grace_s)
        return wanted

    def _default_grace_s(self) -> int | None:
        span = self._config.termination_grace_period
        return None if span is None else round(span.total_seconds())

    # what is shown

    def _first_state(self) -> ControllerState:
        config = self._config
        return ControllerState(
            id=config.id or os.environ.get("POD_NAME") or socket.gethostname(),
            boot_nonce=uuid.uuid4().hex[:12],
            tenant=config.tenant,
            namespace=config.namespace,
            cluster_name=config.cluster.name,
            storage_type=config.storage_type,
            storage_address=config.storage_address,
            started=self._clock.wall(),
            priority=config.priority,
            remains_follower=config.remains_follower,
        )

    def _note_win(self, leadership: Leadership) -> None:
        self._reason = ""
        board = self.board
        first = not board.controller.leader and not board.history
        board.count("leadership_acquisitions_total")
        if not first:
            board.count("failover_total")
            board.change(failovers=board.controller.failovers + 1)
        board.transition(self._identity, "elected", leadership.term)
        board.change(
            is_leader=True,
            leader_since=self._clock.wall(),
            lease_duration_s=self._storage.leads_without_renewal_s,
        )
        _log.info("tenant %s: leading in epoch %d", self.name, leadership.term)

    def _note_loss(self, reason: str) -> None:
        """Nobody leads as far as is known here; told once."""
        if not self.board.controller.is_leader and self.board.controller.leader != self._identity:
            return
        since = self.board.controller.leader_since
        if since is not None:
            self.board.observe("leadership_duration_seconds", max(0.0, self._clock.wall() - since))
        self.board.count("leadership_losses_total")
        self.board.change(is_leader=False, leader_since=None, phase=ControllerPhase.FOLLOWING)
        self.board.transition("", reason, self.board.controller.epoch)
        _log.info("tenant %s: no longer leading: %s", self.name, reason)

    async def _keep_looking(self) -> None:
        """Notice who leads."""
        while True:
            leader, term = self._who_leads()
            known = self.board.controller
            if leader != known.leader and not known.is_leader and leader != self._identity:
                self.board.transition(leader, "elected" if leader else "gone", term)
            await self._clock.sleep(_LOOK_S)

    def _who_leads(self) -> Held:
        return Held(self._elector.leader, self._elector.term) if self._leadership.contends else self._held

    async def _keep_checking_storage(self) -> None:
        """Ask the store how it is, and what it says of others."""
        while True:
            await self._check_storage()
            await self._failback.look()
            self._reconsider()
            await self._clock.sleep(_LOOK_S if self._failback.preferred else _HEALTH_S)

    async def _keep_checking_cluster(self) -> None:
        """Ask the cluster how it is."""
        while True:
            await self._check_cluster()
            self._reconsider()
            await self._clock.sleep(_HEALTH_S if self._unreached_since is None else _LOOK_S)

    async def _keep_stopping_abandoned(self) -> None:
        """Stop what an earlier leader left here, while somebody else leads."""
        if not self._storage.is_apart:
            # A Raft's term may be ahead of its leader's.
            return
        await self._live.informers.wait_synced()
        while True:
            leader, term = self._who_leads()
            if leader not in ("", self._identity) and self._unreached_since is None:
                await self._abandoned.stop(term)
            await self._clock.sleep(_LOOK_S)

    async def _check_storage(self) -> None:
        began = self._clock.monotonic()
        board = self.board
        board.count("db_operations_total", operation="observe")
        try:
            self._held = await self._storage.held()
        except StorageDown as error:
            board.count("db_errors_total", operation="observe", error_type="unavailable")
            board.change(
                storage_healthy=False,
                storage_error=str(error),
                storage_failures=board.controller.storage_failures + 1,
            )
        else:
            board.observe("db_latency_seconds", self._clock.monotonic() - began, operation="observe")
            board.change(storage_healthy=True, storage_error="")

    async def _check_cluster(self) -> None:
        labels = f"managed-by={MANAGER}"
        try:
            async with asyncio.timeout(_HEALTH_S):
                await self._client.list_page(PODS, self._config.namespace, labels=labels, limit=1)
        except (ClientError, TimeoutError) as error:
            if self._unreached_since is None:
                self._unreached_since = self._clock.monotonic()
            told = str(error) or f"no answer for {_HEALTH_S:g} s"
            self.board.change(cluster_healthy=False, cluster_error=told)
        else:
            self._unreached_since = None
            self.board.change(cluster_healthy=True, cluster_error="")

    def _workload_changed(self, key: WorkloadKey) -> None:
        reigning = self._reigning
        if reigning is None:
            spec = self.specs.get(key)
            if spec is not None:
                self.board.show(observed(self._live, self.name, key, spec))
            if self._leadership.contends and self._all_stopped():
                # The leader that has stopped them is about to release the lock.
                self._elector.hurry()
        elif key in reigning.runners:
            reigning.runners[key].wake()
        else:
            self._changed.set()

    def _all_stopped(self) -> bool:
        return all(each.phase is WorkloadPhase.STOPPED for each in self.board.workloads.values())

    def _show_all(self) -> None:
        for key, spec in self.specs.items():
            if str(key) not in self.board.workloads:
                self.board.show(observed(self._live, self.name, key, spec))

    # controls

    def check(self, config: TenantConfig) -> None:
        """Raises ConfigError for what needs a new process."""
        for field in _FIXED:
            if getattr(config, field) != getattr(self._config, field):
                raise ConfigError(f"{field} cannot change while the controller is running: restart it")

    def configure(self, config: TenantConfig) -> None:
        """Another configuration from now on. Raises ConfigError as `check` does."""
        self.check(config)
        before = set(self.specs)
        self._config = config
        self._live.add_namespaces(self.namespaces)
        self._refresh_workloads(before)
        self.board.change(priority=config.priority, remains_follower=config.remains_follower, config_error="")
        if config.remains_follower:
            self._end_leading("ordered to remain a follower")
        self._reconsidered.set()

    def add_workloads(self, extra: Specs) -> None:
        """Workloads beside those of the configuration, in place of the last that were given."""
        if extra == self._extra:
            return
        before = set(self.specs)
        self._extra = dict(extra)
        self._refresh_workloads(before)

    def _refresh_workloads(self, before: Iterable[WorkloadKey]) -> None:
        for key in set(before) - set(self.specs):
            self.board.forget(str(key))
        self._show_all()
        self._run_workloads()
        self._changed.set()

    async def pause(self, workload: str) -> None:
        await self._set_paused(workload, True)

    async def resume(self, workload: str) -> None:
        await self._set_paused(workload, False)

    async def restart(self, workload: str) -> None:
        self._runner(workload).restart()

    async def step_down(self, reason: str) -> None:
        if self._reigning is None:
            raise NotLeader(f"{self._identity} does not lead {self.name}")
        self._end_leading(reason, pause_s=self._config.election.step_down_pause.total_seconds())

    async def drain(self) -> None:
        self._drained = True
        self._end_leading("drained")
        self._reconsidered.set()

    async def undrain(self) -> None:
        self._drained = False
        self._reconsidered.set()

    async def reload(self) -> None:
        if self._reload is None:
            raise ConfigError("there is no file to reload")
        self._reload()

    def _end_leading(self, reason: str, *, pause_s: float = 0.0) -> None:
        """Have leadership, or contending for it, end; not to be contended for for so long."""
        self._reason = reason
        self._pause_s = pause_s
        self._leadership.take(Step.LET_GO)

    async def _set_paused(self, workload: str, paused: bool) -> None:
        runner = self._runner(workload)
        wanted = (self._paused | {workload}) if paused else (self._paused - {workload})
        await save_paused(self._client, self.name, self._config.namespace, wanted)
        self._paused = wanted
        runner.pause(paused)

    def _runner(self, workload: str) -> Runner:
        reigning = self._reigning
        if workload not in self.board.workloads:
            raise KeyError(workload)
        if reigning is None:
            raise NotLeader(f"{self._identity} does not lead {self.name}")
        return next(runner for key, runner in reigning.runners.items() if str(key) == workload)
