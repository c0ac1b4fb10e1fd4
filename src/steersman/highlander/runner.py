"""One workload under one leadership: brought to what is wanted, looked after, stopped when it is to stop.

    pods of other epochs live    stop, and wait until they are gone
    paused                       stop, and leave it so
    else                         its objects as wanted; a process that failed is started again, after a while

It is woken by every change of the workload's objects and reads them from the caches; every write asks for
the leadership first. Losing it cancels the runner, wherever it is.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from steersman.aio import Backoff, Clock, wait_for_event
from steersman.client import Client, ClientError, Conflict
from steersman.election import Leadership, LeadershipLost
from steersman.highlander.config.specs import WorkloadSpec
from steersman.highlander.errors import ConfigError, ForeignObject
from steersman.highlander.live import LiveObjects
from steersman.highlander.pinning import PinnedWrites
from steersman.highlander.showing import observed
from steersman.highlander.state import Board, WorkloadKind, WorkloadPhase
from steersman.highlander.stopping import is_stopped, living_copies, stop
from steersman.highlander.workloads.copies import is_living, living
from steersman.highlander.workloads.objects import (
    Part,
    at_rest,
    has_gate,
    is_at_rest,
    parts,
    without_gate,
)
from steersman.highlander.workloads.ownership import (
    HASH,
    MANAGER,
    Stamp,
    WorkloadKey,
    belongs_to,
    epoch_of,
)
from steersman.objects.resources import PODS
from steersman.operator.children import Children
from steersman.runtime import Key

__all__ = ["Runner", "RunnerContext"]

_log = logging.getLogger(__name__)

#: Between two starts of a process that fails.
_RESTARTS = Backoff(first_s=1.0, ceiling_s=60.0)
#: Between two attempts at a write that is refused or not answered.
_RETRIES = Backoff(first_s=0.5, ceiling_s=30.0)
#: A process that has run for so long has not failed in a row.
_STEADY_S = 300.0


class RunnerContext:
    """What all runners of one leadership share: client, caches, pinned writes, clock."""

    def __init__(
        self,
        client: Client,
        live: LiveObjects,
        leadership: Leadership,
        stamp: Stamp,
        board: Board,
        clock: Clock,
        default_grace_s: int | None,
    ) -> None:
        self.live = live
        self.stamp = stamp
        self.board = board
        self.clock = clock
        self.default_grace_s = default_grace_s
        self.client = client
        self.writes = PinnedWrites(client, MANAGER, live.cache, leadership.check)
        self.children = Children(client, MANAGER, live.cache, self.writes)

    @property
    def tenant(self) -> str:
        return self.stamp.tenant


@dataclass(slots=True)
class _Failures:
    """How a process has been failing."""

    count: int = 0
    in_a_row: int = 0
    not_before: float = 0.0
    #: The pod whose failure was counted last.
    uid: str = ""


class Runner:
    """`run` until cancelled; then `stop_until_gone`, if it is to be stopped."""

    def __init__(
        self, spec: WorkloadSpec, key: WorkloadKey, context: RunnerContext, *, paused: bool = False
    ) -> None:
        self.key = key
        self._spec = spec
        self._context = context
        self._paused = paused
        self._wake = asyncio.Event()
        #: Pods that must be gone before the workload goes on: a restart.
        self._unwanted: set[str] = set()
        self._failures = _Failures()
        self._started_at = context.clock.monotonic()
        self._was_ready = False
        self._deadline = self._started_at + spec.readiness_timeout.total_seconds()

    # what it is told

    def wake(self) -> None:
        self._wake.set()

    def change(self, spec: WorkloadSpec) -> None:
        """The configuration says something else of it now."""
        if spec != self._spec:
            self._spec = spec
            self._failures = _Failures()
            self._expect_ready()
            self.wake()

    def pause(self, paused: bool) -> None:
        self._paused = paused
        self._failures = _Failures()
        self._expect_ready()
        self.wake()

    def restart(self) -> None:
        context = self._context
        pods = context.live.of_workload(PODS, context.tenant, self.key)
        # What a process left behind when it ended stands in the way of the next.
        goes = pods if self.key.kind is WorkloadKind.PROCESS else living(pods)
        self._unwanted = {pod["metadata"]["uid"] for pod in goes}
        self._failures = _Failures()
        self._expect_ready()
        self.wake()

    # what it does

    async def run(self) -> None:
        attempts = 0
        while True:
            self._wake.clear()
            wait_s: float | None
            try:
                wait_s = await self._step()
                attempts = 0
            except LeadershipLost:
                await _cancelled()
            except ForeignObject as error:
                self._show(WorkloadPhase.REFUSED, str(error))
                attempts += 1
                wait_s = _RETRIES.wait_s(attempts)
            except Conflict:
                # It has changed since it was seen; the watch shows it.
                attempts += 1
                wait_s = _RETRIES.wait_s(attempts)
            except (ClientError, ConfigError) as error:
                attempts += 1
                wait_s = _RETRIES.wait_s(attempts)
                self._failed(error)
            except Exception as error:  # noqa: BLE001 - one workload's trouble must not be all workloads'
                attempts += 1
                wait_s = _RETRIES.wait_s(attempts)
                _log.exception("%s of %s", self.key, self._context.tenant)
                self._failed(error)
            await wait_for_event(self._wake, self._context.clock, wait_s)

    async def stop_until_gone(self) -> None:
        """Stop it and return when nothing of it runs any more."""
        started_at = self._context.clock.monotonic()
        attempts = 0
        context = self._context
        while True:
            self._wake.clear()
            wait_s: float | None = None
            try:
                await self._stop()
                attempts = 0
            except LeadershipLost:
                await _cancelled()
            except ClientError as error:
                attempts += 1
                wait_s = _RETRIES.wait_s(attempts)
                self._failed(error)
            if wait_s is None and is_stopped(context.live, context.tenant, self.key):
                break
            self._show(WorkloadPhase.STOPPING)
            await wait_for_event(self._wake, self._context.clock, wait_s)
        self._show(WorkloadPhase.PAUSED if self._paused else WorkloadPhase.STOPPED)
        labels = {"type": str(self.key.kind), "name": self.key.name}
        took_s = self._context.clock.monotonic() - started_at
        self._context.board.observe("workload_shutdown_duration_seconds", took_s, **labels)
        self._context.board.count("workload_operations_total", operation="stop", **labels)

    async def _step(self) -> float | None:
        """One look and what follows from it; how long to wait for the next if nothing changes."""
        context, key = self._context, self.key
        if self._paused:
            await self._stop()
            stopped = is_stopped(context.live, context.tenant, key)
            self._show(WorkloadPhase.PAUSED if stopped else WorkloadPhase.STOPPING)
            return None
        if self._others():
            await self._stop()
            self._show(WorkloadPhase.STOPPING)
            return None
        if self._unwanted and self._remains():
            await self._stop()
            self._show(WorkloadPhase.STOPPING)
            return None
        self._unwanted = set()
        wanted = parts(self._spec, key, context.stamp, default_grace_s=context.default_grace_s)
        if key.kind is WorkloadKind.PROCESS:
            return await self._process(wanted[0])
        if living_copies(context.live, context.tenant, key) and any(self._rests(part) for part in wanted):
            # A pod that is ending does not count for whoever would start the next.
            self._show(WorkloadPhase.STOPPING)
            return None
        for part in wanted:
            await self._refuse_foreign(part)
            if _cached(context.live, part) is None:
                # What makes an object may arrive late, when it has been made: then it must start nothing.
                await context.children.apply(part.resource, at_rest(part).object)
            await context.children.apply(part.resource, part.object)
        return self._show_life()

    async def _stop(self) -> None:
        context = self._context
        await stop(context.writes, context.live, context.tenant, self.key, context.stamp.epoch)

    def _remains(self) -> bool:
        """Whether something is left of what a restart does away with."""
        context = self._context
        there = {pod["metadata"]["uid"] for pod in context.live.of_workload(PODS, context.tenant, self.key)}
        return bool(self._unwanted & there) or not is_stopped(context.live, context.tenant, self.key)

    def _rests(self, part: Part) -> bool:
        live = _cached(self._context.live, part)
        return live is not None and is_at_rest(part.resource, live)

    def _others(self) -> list[Any]:
        """Living copies that another leader has started."""
        copies = living_copies(self._context.live, self._context.tenant, self.key)
        return [pod for pod in copies if epoch_of(pod) != self._context.stamp.epoch]

    async def _process(self, wanted: Part) -> float | None:
        context, failures = self._context, self._failures
        cached = _cached(context.live, wanted)
        if cached is None:
            rest_s = failures.not_before - context.clock.monotonic()
            if rest_s > 0:
                self._show(WorkloadPhase.BACKING_OFF)
                return rest_s
            await self._refuse_foreign(wanted)
            made = await context.writes.create(wanted.resource, wanted.object)
            context.board.count("workload_operations_total", operation="start", **self._labels())
            self._expect_ready()
            await self._let_run(made)
            return self._show_life()
        if not belongs_to(cached, context.tenant, self.key):
            raise _foreign(wanted)
        metadata = cached["metadata"]
        if "deletionTimestamp" in metadata:
            self._show(WorkloadPhase.STOPPING)
            return None
        same = (metadata.get("annotations") or {}).get(HASH) == wanted.object["metadata"]["annotations"][HASH]
        phase = (cached.get("status") or {}).get("phase")
        if same and phase == "Succeeded" and not is_living(cached):
            self._show(WorkloadPhase.COMPLETED)
            return None
        if not same or epoch_of(cached) != context.stamp.epoch:
            await context.writes.delete(wanted.resource, Key.of(cached), metadata["uid"])
            self._show(WorkloadPhase.STOPPING)
            return None
        if phase == "Failed" and not is_living(cached):
            return await self._process_failed(wanted, cached)
        await self._let_run(cached)
        return self._show_life()

    async def _let_run(self, pod: dict[str, Any]) -> None:
        """Have a process' pod scheduled that was made in this epoch, and is seen to be there."""
        if has_gate(pod):
            await self._context.writes.patch(PODS, Key.of(pod), without_gate(pod), type="strategic")

    async def _process_failed(self, wanted: Part, pod: dict[str, Any]) -> float | None:
        context, failures, now = self._context, self._failures, self._context.clock.monotonic()
        if failures.uid != pod["metadata"]["uid"]:
            failures.uid = pod["metadata"]["uid"]
            failures.count += 1
            failures.in_a_row = 1 if now - self._started_at > _STEADY_S else failures.in_a_row + 1
            failures.not_before = now + _RESTARTS.wait_s(failures.in_a_row)
            context.board.count("workload_errors_total", error_type="failed", **self._labels())
        limit = self._spec.max_restarts
        if limit is not None and failures.count > limit:
            self._show(WorkloadPhase.FAILED)
            return None
        context.board.count("workload_retry_attempts_total")
        await context.writes.delete(wanted.resource, Key.of(pod), failures.uid)
        self._show(WorkloadPhase.BACKING_OFF)
        return max(0.0, failures.not_before - now)

    async def _refuse_foreign(self, part: Part) -> None:
        """An object of the name that is not part of this workload must be left alone."""
        context = self._context
        found = _cached(context.live, part)
        if found is None:
            found = await context.client.find(part.resource, part.name, self.key.namespace)
        if found is not None and not belongs_to(found, context.tenant, self.key):
            raise _foreign(part)

    # what it shows

    def _labels(self) -> dict[str, str]:
        return {"type": str(self.key.kind), "name": self.key.name}

    def _expect_ready(self) -> None:
        self._started_at = self._context.clock.monotonic()
        self._deadline = self._started_at + self._spec.readiness_timeout.total_seconds()
        self._was_ready = False

    def _show_life(self) -> float | None:
        """Show what the objects say; when the deadline for being ready is to be looked at."""
        state = observed(self._context.live, self._context.tenant, self.key, self._spec)
        now = self._context.clock.monotonic()
        if state.ready:
            if not self._was_ready:
                self._was_ready = True
                took_s = now - self._started_at
                board = self._context.board
                board.observe("workload_startup_duration_seconds", took_s, **self._labels())
                if self._failures.in_a_row:
                    board.count("workload_retry_success_total")
            self._show(state.phase)
            return None
        if now < self._deadline or state.phase is not WorkloadPhase.STARTING:
            self._show(state.phase)
            return max(0.1, self._deadline - now) if state.phase is WorkloadPhase.STARTING else None
        waited_s = self._spec.readiness_timeout.total_seconds()
        self._show(WorkloadPhase.DEGRADED, f"not ready after {waited_s:.0f} s")
        return None

    def _show(self, phase: WorkloadPhase, error: str = "") -> None:
        state = observed(self._context.live, self._context.tenant, self.key, self._spec)
        ready = state.ready and phase in (WorkloadPhase.RUNNING, WorkloadPhase.COMPLETED)
        if error and state.last_error:
            error = f"{error}; {state.last_error}"
        self._context.board.show(
            replace(
                state,
                phase=phase,
                ready=ready,
                paused=self._paused,
                restarts=state.restarts + self._failures.count,
                last_error=error or state.last_error,
            )
        )

    def _failed(self, error: Exception) -> None:
        _log.warning("%s of %s: %s", self.key, self._context.tenant, error)
        self._context.board.count("workload_errors_total", error_type=type(error).__name__, **self._labels())
        known = self._context.board.workloads.get(str(self.key))
        self._show(known.phase if known is not None else WorkloadPhase.STARTING, str(error))


async def _cancelled() -> NoReturn:
    """Whoever has lost the leadership does nothing more; the elector cancels it."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("this future is never set")


def _cached(live: LiveObjects, part: Part) -> dict[str, Any] | None:
    cache = live.cache(part.resource)
    found = None if cache is None else cache.get(Key.of(part.object))
    return None if found is None else found.object()


def _foreign(part: Part) -> ForeignObject:
    metadata = part.object["metadata"]
    return ForeignObject(
        f"{part.resource.kind} {metadata['namespace']}/{part.name} exists and was not "
        "created by Highlander: it is not changed"
    )
