"""What can be said about a controller and its workloads at a moment: values, their board, controls.

The tenant writes to its `Board`; HTTP, metrics and the dashboard read from it and are called when something
changes. Nothing here talks to a cluster or to a lock. Times are seconds since the Unix epoch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

__all__ = [
    "Board",
    "ControllerPhase",
    "ControllerState",
    "Controls",
    "Distribution",
    "Listener",
    "PodView",
    "Series",
    "Transition",
    "WorkloadKind",
    "WorkloadPhase",
    "WorkloadState",
    "series",
]

#: How many changes of leadership are remembered.
_HISTORY = 200
#: Upper bounds of a distribution's buckets, in seconds.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0, 86400.0)

#: A name and its labels in the order of their names: `("workload_errors_total", (("name", "a"), …))`.
Series = tuple[str, tuple[tuple[str, str], ...]]


def series(name: str, labels: Mapping[str, str]) -> Series:
    return name, tuple(sorted(labels.items()))


class WorkloadKind(StrEnum):
    PROCESS = "process"
    CRON_JOB = "cronjob"
    SERVICE = "service"
    PERSISTENT = "persistent"


class ControllerPhase(StrEnum):
    STARTING = "starting"
    FOLLOWING = "following"
    #: Elected, and waiting until the copies of earlier leaders are gone.
    TAKING_OVER = "taking-over"
    LEADING = "leading"
    STOPPING = "stopping"
    #: Does not contend until told to.
    DRAINED = "drained"
    STOPPED = "stopped"


class WorkloadPhase(StrEnum):
    #: Nothing is done for it here: this controller does not lead, or has not come to it yet.
    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    #: Runs, and is not ready within its deadline.
    DEGRADED = "degraded"
    #: Waits before it is started again.
    BACKING_OFF = "backing-off"
    #: Given up: it failed more often than `maxRestarts` allows.
    FAILED = "failed"
    #: A process that came to its end.
    COMPLETED = "completed"
    #: An object of that name is there and is not ours.
    REFUSED = "refused"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of leadership as seen here."""

    time: float
    from_leader: str
    """Empty if nobody led."""
    to_leader: str
    reason: str
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod of a workload."""

    name: str
    namespace: str
    workload: str
    kind: WorkloadKind
    phase: str
    """Pending, Running, Succeeded, Failed, Unknown; Terminating once it is to go."""
    ready: bool = False
    restarts: int = 0
    node: str = ""
    ip: str = ""
    epoch: int = 0
    controller_id: str = ""
    created: float | None = None
    started: float | None = None
    reason: str = ""
    containers: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    host_ip: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkloadState:
    """One workload."""

    kind: WorkloadKind
    name: str
    namespace: str
    tenant: str
    phase: WorkloadPhase = WorkloadPhase.PENDING
    ready: bool = False
    last_error: str = ""
    restarts: int = 0
    pods: tuple[PodView, ...] = ()
    epoch: int = 0
    """Of the leadership that its objects were last written in; 0 if none were."""
    paused: bool = False
    since: float = 0.0
    """When the phase was entered."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What only its kind has: schedule, replicas, readyReplicas, suspended, lastScheduleTime."""

    @property
    def key(self) -> str:
        """`process/default/backup`: unlike a name, only one workload's."""
        return f"{self.kind}/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ControllerState:
    """This process' part in one tenant's election."""

    id: str
    boot_nonce: str
    tenant: str
    namespace: str = "default"
    cluster_name: str = ""
    storage_type: str = ""
    storage_address: str = ""
    """Where the lock is kept, without a password."""
    phase: ControllerPhase = ControllerPhase.STARTING
    phase_detail: str = ""
    """What it waits for, if it does."""
    is_leader: bool = False
    leader_since: float | None = None
    leader: str = ""
    """Who leads as far as is known here."""
    last_leader: str = ""
    epoch: int = 0
    """The highest known."""
    lease_duration_s: float = 0.0
    lease_margin_s: float | None = None
    """How long this leader may lead on without another renewal; None if it does not lead."""
    renew_lag_s: float | None = None
    """How long ago the last renewal that counts was sent; None if it does not lead."""
    started: float = 0.0
    last_transition: float | None = None
    last_reason: str = ""
    storage_healthy: bool = False
    storage_error: str = ""
    cluster_healthy: bool = False
    cluster_error: str = ""
    storage_failures: int = 0
    failovers: int = 0
    transitions: int = 0
    last_error: str = ""
    config_error: str = ""
    """Why the last reload was refused; empty if it was not."""
    priority: int = 0
    remains_follower: bool = False

    @property
    def owner(self) -> str:
        """Who holds the lock when this controller does: no other process is called so."""
        name = f"{self.id}_{self.boot_nonce}"
        return f"{name}#{self.priority}" if self.priority else name


class Distribution:
    """How often something took how long: bucket counts for a histogram."""

    __slots__ = ("bounds", "count", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = _BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """Per bucket, not cumulative; the last is everything above the highest bound."""
        self.total = 0.0
        self.count = 0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds
        self.count += 1


Listener = Callable[[str, object], None]
"""Called with `controller` and the ControllerState, `workload` and the WorkloadState, `workload-gone` and the
WorkloadState that left the configuration, or `transition` and the Transition. Must not block nor raise."""


class Board:
    """What one tenant shows of itself. Written by the tenant only."""

    def __init__(self, controller: ControllerState, now: Callable[[], float]) -> None:
        self._controller = controller
        self._workloads: dict[str, WorkloadState] = {}
        self._history: deque[Transition] = deque(maxlen=_HISTORY)
        self._listeners: list[Listener] = []
        self._now = now
        self._margin: Callable[[], float | None] = lambda: None
        self.counters: dict[Series, float] = {}
        """Names without prefix, as in the metrics: `leadership_transitions_total`."""
        self.durations: dict[Series, Distribution] = {}
        """Likewise: `workload_startup_duration_seconds`."""

    # reading

    @property
    def controller(self) -> ControllerState:
        """As it is at this moment: margin and lag are computed when asked for, and so is leading."""
        state, margin_s = self._controller, self._margin()
        if not state.is_leader:
            return state
        if margin_s is None or margin_s <= 0:
            return replace(state, is_leader=False, lease_margin_s=0.0)
        lag_s = max(0.0, state.lease_duration_s - margin_s)
        return replace(state, lease_margin_s=margin_s, renew_lag_s=lag_s)

    @property
    def workloads(self) -> Mapping[str, WorkloadState]:
        """By key, in the order of the configuration."""
        return self._workloads

    @property
    def pods(self) -> tuple[PodView, ...]:
        return tuple(pod for workload in self._workloads.values() for pod in workload.pods)

    @property
    def history(self) -> tuple[Transition, ...]:
        """Changes of leadership, oldest first."""
        return tuple(self._history)

    @property
    def ready(self) -> bool:
        """Whether this controller does its part: a follower that can take over, or a leader at work."""
        return self._controller.phase in (
            ControllerPhase.FOLLOWING,
            ControllerPhase.LEADING,
            ControllerPhase.TAKING_OVER,
        )

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called at every change, until what is returned is called."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    # writing

    def measure_margin(self, margin: Callable[[], float | None]) -> None:
        """`margin` says how many seconds of leadership are left at this moment."""
        self._margin = margin

    def change(self, **fields: Any) -> None:
        """Change the controller's state."""
        changed = replace(self._controller, **fields)
        if changed != self._controller:
            self._controller = changed
            self._tell("controller", self.controller)

    def show(self, workload: WorkloadState) -> None:
        known = self._workloads.get(workload.key)
        if known is None or known.phase != workload.phase:
            workload = replace(workload, since=self._now())
        else:
            workload = replace(workload, since=known.since)
        if workload != known:
            self._workloads[workload.key] = workload
            self._tell("workload", workload)

    def forget(self, key: str) -> None:
        gone = self._workloads.pop(key, None)
        if gone is not None:
            self._tell("workload-gone", gone)

    def transition(self, to_leader: str, reason: str, epoch: int) -> None:
        """Somebody else leads than before, or nobody does."""
        before = self._controller.leader
        entry = Transition(self._now(), before, to_leader, reason, epoch)
        self._history.append(entry)
        self.count("leadership_transitions_total")
        self.change(
            leader=to_leader,
            last_leader=before or self._controller.last_leader,
            epoch=max(epoch, self._controller.epoch),
            last_transition=entry.time,
            last_reason=reason,
            transitions=self._controller.transitions + 1,
        )
        self._tell("transition", entry)

    def count(self, name: str, by: float = 1, /, **labels: str) -> None:
        key = series(name, labels)
        self.counters[key] = self.counters.get(key, 0) + by

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        self.durations.setdefault(series(name, labels), Distribution()).add(seconds)

    def _tell(self, what: str, value: object) -> None:
        for listener in tuple(self._listeners):
            listener(what, value)


class Controls(Protocol):
    """What people may have a tenant do. A workload is named by its key (`WorkloadState.key`); one that is not
    there is a KeyError; what only a leader can do is `NotLeader` elsewhere (`highlander.errors`)."""

    @property
    def board(self) -> Board: ...

    async def pause(self, workload: str) -> None:
        """Stop it and leave it stopped until `resume`; lasts over changes of leadership."""
        ...

    async def resume(self, workload: str) -> None: ...

    async def restart(self, workload: str) -> None:
        """Stop it, wait until it is gone, start it."""
        ...

    async def step_down(self, reason: str) -> None:
        """Stop the workloads, give the lock up, contend again after a while."""
        ...

    async def drain(self) -> None:
        """Step down and contend no more; `undrain` takes it back."""
        ...

    async def undrain(self) -> None: ...

    async def reload(self) -> None:
        """Read the configuration again; what is wrong with it is raised and changes nothing."""
        ...
