"""The prober (kubelet's prober manager): runs startup probes first, then readiness and liveness, each with
its own period.

A container is probed from when the pod's worker first asks for its health until it stops running. Nothing
waits in a task: the next attempt of each probe is a timer.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from steersman.cluster.node.cri import ContainerEvent, ContainerStatus, PodRuntime, RuntimeService
from steersman.cluster.node.downward import DownwardNodeFacts, pod_addresses
from steersman.cluster.node.events import NodeEvents, container_reference
from steersman.cluster.node.health import HEALTHY, ContainerHealth
from steersman.cluster.node.probing.attempts import attempt
from steersman.cluster.node.probing.outcome import ProbeErrored, ProbeOutcome, ProbeTarget
from steersman.cluster.node.probing.result_run import ResultRun
from steersman.cluster.node.timers import Starter, Timers
from steersman.objects.kinds.types.core_v1 import Container, Pod, PodSpec, Probe
from steersman.objects.lifetime import is_deleting
from steersman.objects.pods import ContainerField, ContainerStatusField

__all__ = ["ContainerProber"]

Kind = Literal["startup", "readiness", "liveness"]

_FIELDS: Final[Mapping[Kind, Literal["startupProbe", "readinessProbe", "livenessProbe"]]] = {
    "startup": "startupProbe",
    "readiness": "readinessProbe",
    "liveness": "livenessProbe",
}
_CONTAINERS: Final[tuple[ContainerField, ...]] = ("containers", "initContainers")
_STATUSES: Final[tuple[ContainerStatusField, ...]] = ("containerStatuses", "initContainerStatuses")
#: What counts before a probe has a verdict.
_BEFORE: Final[Mapping[Kind, bool | None]] = {"startup": None, "readiness": False, "liveness": True}
#: How results are called where they are counted.
_RESULTS: Final = {"success": "successful", "warning": "successful", "failure": "failed"}
#: A probe that could not be made is tried so often before that is told.
_TRIES: Final = 3
#: A container that comes up is found ready soon after it is, however seldom it will be asked later.
_EARLY_S: Final = 0.05
_EARLY_FACTOR: Final = 1.5


class _Probe:
    """One probe of a container with its schedule and results."""

    __slots__ = ("begun", "early", "key", "kind", "over", "result", "spec", "tally", "task")

    def __init__(self, container_id: str, kind: Kind, spec: Probe) -> None:
        self.key = ("probe", container_id, kind)
        self.kind: Kind = kind
        self.spec = spec
        self.tally = ResultRun(spec.get("successThreshold") or 1, spec.get("failureThreshold") or 3)
        self.result = _BEFORE[kind]
        #: Nothing more is to be found out.
        self.over = False
        #: When the first attempt was made (monotonic).
        self.begun: float | None = None
        self.early = _EARLY_S
        self.task: asyncio.Task[None] | None = None

    @property
    def period_s(self) -> float:
        return float(self.spec.get("periodSeconds") or 10)


class _Probed:
    """A running container with probes."""

    __slots__ = ("container", "counts", "ip", "pod", "probes", "resumed", "status")

    def __init__(self, pod: Pod, container: Container, status: ContainerStatus, ip: str) -> None:
        self.pod = pod
        self.container = container
        self.status = status
        self.ip = ip
        self.resumed = False
        #: Attempts by kind and result.
        self.counts: Counter[tuple[Kind, str]] = Counter()
        self.probes = {
            kind: _Probe(status.id, kind, spec)
            for kind, field in _FIELDS.items()
            if (spec := container.get(field)) is not None
        }

    def _result(self, kind: Kind, *, without: bool) -> bool | None:
        probe = self.probes.get(kind)
        return without if probe is None else probe.result

    @property
    def started(self) -> bool:
        return self._result("startup", without=True) is True

    def health(self) -> ContainerHealth:
        ready = self._result("readiness", without=True) is True
        for kind in ("startup", "liveness"):
            if self._result(kind, without=True) is False:
                return ContainerHealth(self.started, ready, kind)
        return ContainerHealth(self.started, ready)


class ContainerProber:
    """The `Prober` of a node with real containers."""

    def __init__(
        self,
        runtime: RuntimeService,
        events: NodeEvents,
        timers: Timers,
        start: Starter,
        node: DownwardNodeFacts,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self._runtime = runtime
        self._events = events
        self._timers = timers
        self._start = start
        self._node = node
        self._rand = rand
        self._listener: Callable[[ContainerEvent], None] = lambda _: None
        #: Pod → container → what is probed.
        self._pods: dict[str, dict[str, _Probed]] = {}
        self._began = timers.clock.wall()

    def subscribe(self, listener: Callable[[ContainerEvent], None]) -> None:
        self._listener = listener

    def health(self, pod: Pod, runtime: PodRuntime) -> Mapping[str, ContainerHealth]:
        uid = pod["metadata"]["uid"]
        specs = {container["name"]: container for container in _probed(pod["spec"])}
        known = self._pods.get(uid, {})
        running = {status.id: status for status in runtime.running()}
        for container_id in [one for one in known if one not in running]:
            self._stop(known.pop(container_id))
        healths = {}
        for container_id, status in running.items():
            container = specs.get(status.name)
            if container is None:
                healths[container_id] = HEALTHY
                continue
            if container_id not in known:
                known[container_id] = self._begin(pod, container, status, runtime)
                self._pods[uid] = known
            probed = known[container_id]
            probed.pod = pod
            if is_deleting(pod):
                self._let_end(probed)
            healths[container_id] = probed.health()
        return healths

    def ended(self, uid: str) -> None:
        for probed in self._pods.pop(uid, {}).values():
            self._stop(probed)

    def counts(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """How often probes of running containers had which result: (type, result, container, pod, namespace,
        pod's UID) and a number."""
        for pod in self._pods.values():
            for probed in pod.values():
                metadata = probed.pod["metadata"]
                whose = (probed.status.name, metadata["name"], metadata["namespace"], metadata["uid"])
                for (kind, result), count in probed.counts.items():
                    yield (kind.capitalize(), result, *whose), count

    # --- one container

    def _begin(self, pod: Pod, container: Container, status: ContainerStatus, runtime: PodRuntime) -> _Probed:
        ips = pod_addresses(pod, runtime.ips, self._node)
        probed = _Probed(pod, container, status, ips[0] if ips else "")
        if status.started_at < self._began:
            _resume(probed)
        if probed.started:
            self._schedule_others(probed)
        else:
            self._schedule_first(probed, "startup")
        return probed

    def _schedule_others(self, probed: _Probed) -> None:
        """The container has started."""
        self._schedule_first(probed, "readiness")
        self._schedule_first(probed, "liveness")

    def _schedule_first(self, probed: _Probed, kind: Kind) -> None:
        probe = probed.probes.get(kind)
        if probe is None or probe.over:
            return
        ran_s = self._timers.clock.wall() - probed.status.started_at
        delay_s = max(float(probe.spec.get("initialDelaySeconds") or 0) - ran_s, 0.0)
        if probed.resumed:
            # Not everything that runs at once when a node's agent is started again.
            delay_s += self._rand() * probe.period_s
        self._schedule(probed, probe, delay_s)

    def _schedule(self, probed: _Probed, probe: _Probe, delay_s: float) -> None:
        def due() -> None:
            probe.task = self._start(self._probe(probed, probe))

        self._timers.after(delay_s, probe.key, due)

    def _stop(self, probed: _Probed) -> None:
        for probe in probed.probes.values():
            self._stop_one(probe)

    def _stop_one(self, probe: _Probe) -> None:
        probe.over = True
        self._timers.cancel(probe.key)
        if probe.task is not None:
            probe.task.cancel()
            probe.task = None

    def _let_end(self, probed: _Probed) -> None:
        """A pod that ends is not killed for being unhealthy; whether it is ready still matters."""
        waited = not probed.started
        for kind in ("startup", "liveness"):
            probe = probed.probes.get(kind)
            if probe is not None and not probe.over:
                self._stop_one(probe)
                probe.result = True
        if waited:
            self._schedule_first(probed, "readiness")

    # --- one probe

    async def _probe(self, probed: _Probed, probe: _Probe) -> None:
        clock = self._timers.clock
        began = clock.monotonic()
        if probe.begun is None:
            probe.begun = began
        outcome = await self._attempt(probed, probe)
        probed.counts[probe.kind, "unknown" if outcome is None else _RESULTS[outcome.result]] += 1
        probe.task = None
        if probe.over:
            return
        delay_s = began + probe.period_s - clock.monotonic()
        if outcome is not None:
            good = outcome.result != "failure"
            if not good and self._is_early(probe, began):
                # The last of them is at the time of the second attempt that is due.
                delay_s = min(probe.early, probe.begun + probe.period_s - clock.monotonic())
                probe.early *= _EARLY_FACTOR
            else:
                self._record_event(probed, probe, outcome)
                self._count(probed, probe, good=good)
        if not probe.over:
            self._schedule(probed, probe, max(delay_s, 0.0))

    def _is_early(self, probe: _Probe, began: float) -> bool:
        """Whether a failure only means that the container is still coming up."""
        coming = probe.kind != "liveness" and not probe.result and probe.tally.successes == 1
        assert probe.begun is not None
        return coming and began < probe.begun + probe.period_s

    async def _attempt(self, probed: _Probed, probe: _Probe) -> ProbeOutcome | None:
        """What an attempt found; None: it could not be made."""
        target = ProbeTarget(probed.pod, probed.container, probed.status.id, probed.ip)
        problem = ""
        for _ in range(_TRIES):
            try:
                return await attempt(self._runtime, target, probe.spec)
            except ProbeErrored as error:
                problem = str(error)
            if probe.over:
                return None
        name = probe.kind.capitalize()
        self._warn(probed, "Unhealthy", f"{name} probe errored and resulted in unknown state: {problem}")
        return None

    def _record_event(self, probed: _Probed, probe: _Probe, outcome: ProbeOutcome) -> None:
        name = probe.kind.capitalize()
        if outcome.result == "failure":
            self._warn(probed, "Unhealthy", f"{name} probe failed: {outcome.output}")
        elif outcome.result == "warning":
            self._warn(probed, "ProbeWarning", f"{name} probe warning: {outcome.output}")

    def _warn(self, probed: _Probed, reason: str, note: str) -> None:
        self._events.warning(container_reference(probed.pod, probed.container), reason, note)

    def _count(self, probed: _Probed, probe: _Probe, *, good: bool) -> None:
        verdict = probe.tally.count(good=good)
        if verdict is None:
            return
        changed = verdict is not probe.result
        probe.result = verdict
        if probe.kind == "startup" or (probe.kind == "liveness" and not verdict):
            # It is decided until there is another container.
            probe.over = True
        if probe.kind == "startup" and verdict:
            self._schedule_others(probed)
        if changed:
            self._listener(ContainerEvent(probed.pod["metadata"]["uid"], probed.status.id))


def _probed(spec: PodSpec) -> Iterator[Container]:
    """The containers that have probes."""
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            if any(container.get(field) is not None for field in _FIELDS.values()):
                yield container


def _resume(probed: _Probed) -> None:
    """Take from the pod's status what an agent before this one had found out."""
    status = probed.pod.get("status") or {}
    for field in _STATUSES:
        for one in status.get(field) or ():
            if one.get("containerID", "").endswith(f"://{probed.status.id}"):
                probed.resumed = True
                found: Mapping[Kind, Any] = {"startup": one.get("started"), "readiness": one.get("ready")}
                for kind, good in found.items():
                    if good and (probe := probed.probes.get(kind)) is not None:
                        probe.result = True
                        probe.over = kind == "startup"
