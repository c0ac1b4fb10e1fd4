"""The scheduling cycle (one pod after the other) and the binding cycle (concurrent) of kube-scheduler.

    queue.pop ─► place ─► a node ─► assume, reserve, permit ─► (task) pre_bind, bind, post_bind
                   │                                               └─ went wrong: forget, try again later
                   └────► none ───► post_filter ─► condition, event ─► queue.refused

From `pop` to the end of the upper line nothing is waited for, so nothing can happen in between that the
decision would have depended on. Later pods see an assumed pod on its node at once, before the API shows it.

Runs while leading; what is known is kept up to date by `event_handlers` all the time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from steersman.aio import Clock, Scope, wait_for_event
from steersman.client import ClientError
from steersman.cluster.scheduler.errors import NotBound, SchedulerProblem
from steersman.cluster.scheduler.event_handlers import EventHandlers
from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind
from steersman.cluster.scheduler.framework.plugin import PreBindPreFlight
from steersman.cluster.scheduler.framework.profile import Profile
from steersman.cluster.scheduler.framework.verdicts import NoFit, Nomination, Refusal, Wait
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.permits import Permits
from steersman.cluster.scheduler.placing import Placer
from steersman.cluster.scheduler.queue import QueuedPodInfo
from steersman.cluster.scheduler.status_writer import PodStatusWriter
from steersman.objects.resources import PODS
from steersman.runtime import Cache, Recorder

__all__ = ["ProfileRunner", "Scheduler"]

_log = logging.getLogger(__name__)

_NO_NODES: Final = "no nodes available to schedule pods"
_CLEARED: Final = Nomination("")
#: Where a pod was refused before nodes were looked at, nobody is preempted: the first of Kubernetes' plugins
#: to be asked afterwards does not find what it would have noted before, and these are its words.
_NOTHING_KNOWN: Final = "not found"
#: Requests to bind under way at once. More would only wait for each other.
_MOST_BINDINGS: Final = 100
#: As much of a message as an Event takes.
_NOTE_LENGTH: Final = 1024


@dataclass(frozen=True, slots=True)
class ProfileRunner:
    """A profile with its placer and event recorder."""

    profile: Profile
    placer: Placer
    recorder: Recorder


class Scheduler:
    """Schedules the pods of some profiles."""

    def __init__(
        self,
        event_handlers: EventHandlers,
        runners: Mapping[str, ProfileRunner],
        telling: PodStatusWriter,
        permits: Permits,
        pods: Cache,
        clock: Clock,
    ) -> None:
        """`runners` are by scheduler name; `pods` is the cache that `event_handlers` hears of."""
        self._event_handlers = event_handlers
        self._nodes = event_handlers.nodes
        self._queue = event_handlers.queue
        self._nominations = event_handlers.nominations
        self._runners = runners
        self._status_writer = telling
        self._permits = permits
        self._pods = pods
        self._clock = clock
        self._work = asyncio.Event()
        self._bindings = 0
        self._scope: Scope | None = None

    def wake(self) -> None:
        """There may be something to do."""
        self._work.set()

    async def run(self) -> None:
        """Schedule until cancelled."""
        try:
            async with Scope() as self._scope:
                self._scope.start(self._status_writer.run(), name="scheduler: statuses")
                while True:
                    entry = self._queue.pop(self._clock.monotonic())
                    if entry is None or self._bindings >= _MOST_BINDINGS:
                        await self._wait(entry)
                    if entry is not None:
                        self._try(entry)
                        # Everybody else in this process has a turn between two pods.
                        await asyncio.sleep(0)
        finally:
            self._scope = None
            self._forget_all()

    async def _wait(self, entry: QueuedPodInfo | None) -> None:
        """For something to do; with a pod at hand, for a binding to be done."""
        while entry is not None and self._bindings >= _MOST_BINDINGS:
            self._work.clear()
            await self._work.wait()
        if entry is not None:
            return
        self._work.clear()
        due = self._queue.next_due()
        rest_s = None if due is None else max(due - self._clock.monotonic(), 0.0)
        await wait_for_event(self._work, self._clock, rest_s)

    # --- one pod

    def _try(self, entry: QueuedPodInfo) -> None:
        pod = entry.pod
        runner = self._runners[pod.scheduler]
        cycle = CycleState()
        if not len(self._nodes):
            self._refused(runner, entry, _NO_NODES, (), _CLEARED)
            return
        try:
            placed = runner.placer.place(cycle, pod)
            if isinstance(placed, NoFit):
                nomination = self._post_filter(runner, cycle, pod, placed)
                self._refused(runner, entry, placed.message, placed.plugins, nomination)
            else:
                self._assume(runner, entry, cycle, placed)
        except Exception as error:  # noqa: BLE001 - a plugin's failure must not keep other pods waiting
            _log.exception("scheduling pod %s went wrong", pod.key)
            self._failed(runner, entry, str(error))

    def _post_filter(
        self, runner: ProfileRunner, cycle: CycleState, pod: PodInfo, failure: NoFit
    ) -> Nomination | None:
        if failure.pod is not None and runner.profile.post_filters:
            failure.after = _NOTHING_KNOWN
            return None
        for plugin in runner.profile.post_filters:
            nomination = plugin.post_filter(cycle, pod, failure.refusals, failure.unasked)
            if nomination is not None:
                failure.after = nomination.message
                return nomination
        return _CLEARED if not runner.profile.post_filters else None

    def _assume(self, runner: ProfileRunner, entry: QueuedPodInfo, cycle: CycleState, node: str) -> None:
        """The pod is on the node from now on, unless a plugin objects."""
        pod = entry.pod
        self._nodes.place(pod, node)
        self._event_handlers.assumed[pod.key] = pod.uid
        promised = self._nominations.node_of(pod.key)
        self._nominations.drop(pod.key)
        refusal = self._reserve(runner, cycle, pod, node)
        waits: list[tuple[str, float]] = []
        if refusal is None:
            refusal, waits = self._permit(runner, cycle, pod, node)
            if refusal is not None:
                self._unreserve(runner, cycle, pod, node)
        if refusal is not None:
            self._forget(pod)
            self._nominations.put(pod, promised)
            failure = NoFit(1, {node: refusal})
            self._refused(runner, entry, failure.message, failure.plugins, _CLEARED)
            return
        self._queue.done(pod.key)
        if waits:
            self._permits.wait(pod, waits, self._clock.monotonic())
        assert self._scope is not None
        self._scope.start(self._bind(runner, entry, cycle, node, bool(waits)), name=f"bind {pod.key}")

    def _reserve(self, runner: ProfileRunner, cycle: CycleState, pod: PodInfo, node: str) -> Refusal | None:
        for plugin in runner.profile.reserving:
            refusal = plugin.reserve(cycle, pod, node)
            if refusal is not None:
                self._unreserve(runner, cycle, pod, node)
                return refusal
        return None

    def _permit(
        self, runner: ProfileRunner, cycle: CycleState, pod: PodInfo, node: str
    ) -> tuple[Refusal | None, list[tuple[str, float]]]:
        """A refusal, or the plugins that want the pod to wait and how long."""
        waits: list[tuple[str, float]] = []
        for plugin in runner.profile.permitting:
            verdict = plugin.permit(cycle, pod, node)
            if isinstance(verdict, Wait):
                waits.append((plugin.name, verdict.timeout_s))
            elif verdict is not None:
                return verdict, []
        return None, waits

    def _unreserve(self, runner: ProfileRunner, cycle: CycleState, pod: PodInfo, node: str) -> None:
        for plugin in reversed(runner.profile.reserving):
            plugin.unreserve(cycle, pod, node)

    # --- binding

    async def _bind(
        self, runner: ProfileRunner, entry: QueuedPodInfo, cycle: CycleState, node: str, waits: bool
    ) -> None:
        pod = entry.pod
        try:
            if waits or _takes_time(runner, cycle, pod, node):
                await self._status_writer.expect(pod, node)
            refusal = await self._permits.allowed(pod.key, self._clock) if waits else None
            if refusal is not None:
                self._come_to_nothing(runner, entry, cycle, node)
                failure = NoFit(1, {node: refusal})
                self._refused(runner, entry, failure.message, failure.plugins, _CLEARED)
                return
            await self._bind_through_plugins(runner, cycle, pod, node)
        except (ClientError, SchedulerProblem) as error:
            self._come_to_nothing(runner, entry, cycle, node)
            self._failed(runner, entry, str(error))
        except Exception as error:  # noqa: BLE001 - as above
            _log.exception("binding pod %s went wrong", pod.key)
            self._come_to_nothing(runner, entry, cycle, node)
            self._failed(runner, entry, str(error))
        else:
            note = f"Successfully assigned {pod.key} to {node}"
            runner.recorder.event(_reference(pod), "Normal", "Scheduled", note, action="Binding")
            for plugin in runner.profile.post_binding:
                plugin.post_bind(cycle, pod, node)

    async def _bind_through_plugins(
        self, runner: ProfileRunner, cycle: CycleState, pod: PodInfo, node: str
    ) -> None:
        for preparing in runner.profile.pre_binding:
            try:
                await preparing.pre_bind(cycle, pod, node)
            except (ClientError, SchedulerProblem) as error:
                raise SchedulerProblem(f'running PreBind plugin "{preparing.name}": {error}') from error
        self._bindings += 1
        try:
            for binding in runner.profile.binding:
                try:
                    if await binding.bind(cycle, pod, node):
                        return
                except ClientError as error:
                    raise SchedulerProblem(f'running Bind plugin "{binding.name}": {error}') from error
        finally:
            self._bindings -= 1
            self._work.set()
        raise NotBound(f"no plugin of the profile {runner.profile.scheduler!r} binds pod {pod.key}")

    def _come_to_nothing(
        self, runner: ProfileRunner, entry: QueuedPodInfo, cycle: CycleState, node: str
    ) -> None:
        self._unreserve(runner, cycle, entry.pod, node)
        if self._forget(entry.pod):
            self._event_handlers.happened(ClusterEvent(EventKind.POD_DELETED, entry.pod))

    def _forget(self, pod: PodInfo) -> bool:
        """The pod is not on the node after all; False if the API says otherwise."""
        if self._event_handlers.assumed.get(pod.key) != pod.uid:
            return False
        del self._event_handlers.assumed[pod.key]
        self._nodes.displace(pod.key)
        return True

    def _forget_all(self) -> None:
        """What was on its way is not followed any more: what became of it, the API will tell."""
        now = self._clock.monotonic()
        for key in tuple(self._event_handlers.assumed):
            pod = self._nodes.placed(key)
            if pod is not None and self._forget(pod):
                self._queue.add(pod, now)

    # --- failures

    def _refused(
        self,
        runner: ProfileRunner,
        entry: QueuedPodInfo,
        message: str,
        plugins: Sequence[str] | set[str],
        nomination: Nomination | None,
    ) -> None:
        """The pod fits nowhere."""
        if self._still_waits(entry):
            now = self._clock.monotonic()
            if self._queue.get(entry.key) is None:
                # It had its place already when somebody objected; much may have happened since.
                self._queue.failed(entry, now)
            else:
                self._queue.refused(entry, plugins, now)
            self._report_refusal(runner, entry.pod, "Unschedulable", message, nomination)

    def _failed(self, runner: ProfileRunner, entry: QueuedPodInfo, message: str) -> None:
        """Trying the pod went wrong."""
        if self._still_waits(entry):
            self._queue.failed(entry, self._clock.monotonic())
            self._report_refusal(runner, entry.pod, "SchedulerError", message, _CLEARED)

    def _still_waits(self, entry: QueuedPodInfo) -> bool:
        """Whether the pod is there and has no node; the entry gets what it is now."""
        cached = self._pods.get(entry.key)
        if cached is None or cached.uid != entry.pod.uid or self._nodes.place_of(entry.key) is not None:
            self._queue.remove(entry.key)
            return False
        return True

    def _report_refusal(
        self, runner: ProfileRunner, pod: PodInfo, reason: str, message: str, nomination: Nomination | None
    ) -> None:
        node = None if nomination is None else nomination.node
        if node is not None:
            self._nominations.put(pod, node)
        note = message if len(message) <= _NOTE_LENGTH else f"{message[: _NOTE_LENGTH - 4]} ..."
        runner.recorder.event(_reference(pod), "Warning", "FailedScheduling", note, action="Scheduling")
        self._status_writer.refused(pod, reason, message, node)

    # --- preemption

    def evict(self, pod: PodInfo, node: str, victims: list[PodInfo]) -> None:
        """Have pods go so that `pod` can have the node; it is not tried before all have been told."""
        assert self._scope is not None
        self._queue.hold(pod.key)
        self._scope.start(self._evict(pod, node, victims), name=f"preempt for {pod.key}")

    async def _evict(self, pod: PodInfo, node: str, victims: list[PodInfo]) -> None:
        runner = self._runners[pod.scheduler]
        for other in self._nominations.on(node):
            if other.priority < pod.priority:
                # What was promised to less important pods is not true any more.
                self._nominations.drop(other.key)
                self._status_writer.nominate(other, "")
        try:
            for victim in victims:
                if victim.deleting:
                    continue
                await self._status_writer.evict(victim, pod.scheduler)
                runner.recorder.event(
                    _reference(victim),
                    "Normal",
                    "Preempted",
                    f"Preempted by pod {pod.uid} on node {node}",
                    action="Preempting",
                )
        except ClientError as error:
            _log.warning("preempting for pod %s went wrong: %s", pod.key, error)
            entry = self._queue.get(pod.key)
            if entry is not None:
                entry.due = True
        finally:
            self._queue.release(pod.key, self._clock.monotonic())
            self.wake()


def _takes_time(runner: ProfileRunner, cycle: CycleState, pod: PodInfo, node: str) -> bool:
    return any(
        isinstance(plugin, PreBindPreFlight) and plugin.will_pre_bind(cycle, pod, node)
        for plugin in runner.profile.pre_binding
    )


def _reference(pod: PodInfo) -> dict[str, str]:
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "resourceVersion": pod.cached.version,
    }
