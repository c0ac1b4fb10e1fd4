"""The pods of a DaemonSet to create and to delete: placement on nodes and rolling update. Pure: the set,
nodes, pods and the time in, changes out.

`placed` keeps one pod on each eligible node (two while an update surges); `updated` replaces pods of old
revisions within maxUnavailable and maxSurge. `updated` is called when `placed` returns no changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from steersman.cluster.controllers.controller_revisions import REVISION_LABEL
from steersman.cluster.controllers.daemonset.placement import DaemonNodeState, DaemonPlacement, target_node
from steersman.cluster.controllers.int_or_percent import scaled_value
from steersman.cluster.controllers.pod_states import PodState
from steersman.objects.kinds.emptiness import omit_empty
from steersman.objects.kinds.types.apps_v1 import DaemonSet, DaemonSetStatus, RollingUpdateDaemonSet
from steersman.objects.labels import annotations_of

__all__ = [
    "GENERATION_ANNOTATION",
    "GENERATION_LABEL",
    "Changes",
    "DaemonSetView",
    "daemon_status",
    "placed",
    "updated",
]


GENERATION_LABEL: Final = "pod-template-generation"
GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"


@dataclass(slots=True)
class Changes:
    """The nodes to create a pod on, the pods to delete, and the failed pods to delete with an event."""

    create: list[str] = field(default_factory=list)
    delete: list[PodState] = field(default_factory=list)
    ended: list[tuple[PodState, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.create or self.delete)


class DaemonSetView:
    """A DaemonSet with its nodes and pods."""

    def __init__(
        self,
        daemon_set: DaemonSet,
        revision: str,
        nodes: Iterable[DaemonNodeState],
        pods: Iterable[PodState],
        now: datetime,
    ) -> None:
        """`revision` is the hash of the template as it is now."""
        self.spec = daemon_set["spec"]
        self.nodes = {node.name: node for node in nodes}
        self.now = now
        self._revision = revision
        self._generation = annotations_of(daemon_set).get(GENERATION_ANNOTATION)
        placement = DaemonPlacement(daemon_set)
        self.verdicts = {name: placement.judge(node) for name, node in self.nodes.items()}
        self.pods: dict[str, list[PodState]] = {}
        for pod in pods:
            node = target_node(pod)
            # What has ended and is being deleted is somebody else's business.
            if node is not None and not (pod.terminal and pod.deleting):
                self.pods.setdefault(node, []).append(pod)

    @property
    def desired(self) -> int:
        return sum(verdict.run for verdict in self.verdicts.values())

    def is_new(self, pod: PodState) -> bool:
        labels = pod.labels
        return labels.get(REVISION_LABEL) == self._revision or (
            self._generation is not None and labels.get(GENERATION_LABEL) == self._generation
        )

    def is_available(self, pod: PodState) -> bool:
        return pod.available(self.spec.get("minReadySeconds") or 0, self.now)

    def surge(self, total: int) -> int:
        return scaled_value(self._rolling().get("maxSurge") or 0, total, round_up=True)

    def unavailable(self, total: int) -> int:
        return scaled_value(self._rolling().get("maxUnavailable") or 0, total, round_up=True)

    def _rolling(self) -> RollingUpdateDaemonSet:
        strategy = self.spec.get("updateStrategy") or {}
        return strategy.get("rollingUpdate") or {} if strategy.get("type") == "RollingUpdate" else {}


def _by_age(pod: PodState) -> tuple[bool, str, str]:
    """Sorts pods that have a node first, older ones before newer."""
    return not pod.node, pod.metadata.creation_timestamp or "", pod.name


def placed(view: DaemonSetView, may_replace: Callable[[str], bool]) -> Changes:
    """A pod on each node that should have one. `may_replace` says whether a failed pod of a node may be
    deleted already: a node that refuses pods would refuse the next one as fast."""
    changes = Changes()
    for name, verdict in view.verdicts.items():
        pods = view.pods.get(name)
        if verdict.run and pods is None:
            changes.create.append(name)
        elif verdict.stay:
            _keep_one(view, name, pods or [], verdict.run, may_replace, changes)
        else:
            changes.delete += [pod for pod in pods or () if not pod.deleting]
    for name, pods in view.pods.items():
        if name not in view.nodes:
            # They would wait for their node for ever.
            changes.delete += [pod for pod in pods if not pod.node and not pod.deleting]
    return changes


def _keep_one(
    view: DaemonSetView,
    node: str,
    pods: Sequence[PodState],
    wanted: bool,
    may_replace: Callable[[str], bool],
    changes: Changes,
) -> None:
    running = []
    for pod in sorted(pods, key=_by_age):
        if pod.deleting:
            continue
        if not pod.terminal:
            running.append(pod)
        elif pod.phase == "Succeeded" or may_replace(node):
            changes.delete.append(pod)
            changes.ended.append((pod, node))
    if not view.surge(1):
        changes.delete += running[1:]
        return
    if not running and wanted:
        changes.create.append(node)
    if len(running) < 2:
        return
    new = [pod for pod in running if view.is_new(pod)]
    old = [pod for pod in running if not view.is_new(pod)]
    changes.delete += new[1:] + old[1:]
    if new and old and (not old[0].ready or view.is_available(new[0])):
        changes.delete.append(old[0])


def updated(view: DaemonSetView) -> Changes:
    """Pods of old revisions that are replaced now."""
    if (view.spec.get("updateStrategy") or {}).get("type") != "RollingUpdate":
        return Changes()
    desired = view.desired
    surge, unavailable = view.surge(desired), view.unavailable(desired)
    if desired and not surge and not unavailable:
        unavailable = 1
    return _surging(view, surge) if surge else _replacing(view, unavailable)


class _Pair(NamedTuple):
    """The pods of one node, new and old; `excess` if there are more of either."""

    new: PodState | None
    old: PodState | None
    excess: bool


def _pair(view: DaemonSetView, pods: Sequence[PodState]) -> _Pair:
    staying = [pod for pod in pods if not pod.deleting]
    new = [pod for pod in staying if view.is_new(pod)]
    old = [pod for pod in staying if not view.is_new(pod)]
    return _Pair(new[0] if new else None, old[0] if old else None, len(new) > 1 or len(old) > 1)


def _pairs(view: DaemonSetView) -> Mapping[str, _Pair]:
    """Of all nodes that have or should have pods."""
    names = [name for name, verdict in view.verdicts.items() if verdict.run]
    return {name: _pair(view, view.pods.get(name, ())) for name in dict.fromkeys([*view.pods, *names])}


def _replacing(view: DaemonSetView, allowed: int) -> Changes:
    """Old pods go, and `placed` makes the new ones: as many as may be missing at a time."""
    missing = 0
    broken: list[PodState] = []
    whole: list[PodState] = []
    for pair in _pairs(view).values():
        if pair.excess or pair.old is None:
            missing += pair.excess or pair.new is None or not view.is_available(pair.new)
        elif pair.new is not None:
            missing += 1
        elif view.is_available(pair.old):
            whole.append(pair.old)
        else:
            broken.append(pair.old)
            missing += 1
    return Changes(delete=broken + whole[: max(allowed - missing, 0)])


def _surging(view: DaemonSetView, allowed: int) -> Changes:
    """New pods come first, beside the old ones, which go when the new are available."""
    changes = Changes()
    surging = available = 0
    candidates: list[str] = []
    misplaced: list[PodState] = []
    for name, pair in _pairs(view).items():
        if pair.excess:
            surging += 1
            continue
        first = pair.old or pair.new
        available += first is not None and view.is_available(first)
        if pair.old is None:
            continue
        if pair.new is not None:
            if view.is_available(pair.new):
                changes.delete.append(pair.old)
            else:
                surging += 1
            continue
        fits = name in view.verdicts and view.verdicts[name].run
        whole = view.is_available(pair.old)
        if fits:
            (candidates if whole else changes.create).append(name)
        else:
            (misplaced if whole else changes.delete).append(pair.old)
    # Where pods should not be any more they stay until there are enough elsewhere.
    changes.delete += misplaced[: max(available - view.desired, 0)]
    changes.create += candidates[: max(allowed - surging, 0)]
    return changes


def daemon_status(view: DaemonSetView, old: DaemonSetStatus, generation: int) -> DaemonSetStatus:
    """The status as the API would answer it."""
    current = misplaced = ready = new = available = 0
    for name, verdict in view.verdicts.items():
        pods = view.pods.get(name)
        if pods and not verdict.run:
            misplaced += 1
        elif pods:
            oldest = min(pods, key=_by_age)
            current += 1
            ready += oldest.ready
            available += view.is_available(oldest)
            new += view.is_new(oldest)
    counts: DaemonSetStatus = {
        "observedGeneration": generation,
        "updatedNumberScheduled": new,
        "numberAvailable": available,
        "numberUnavailable": view.desired - available,
    }
    status: DaemonSetStatus = {
        "currentNumberScheduled": current,
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": view.desired,
        "numberReady": ready,
        **omit_empty(counts),
    }
    if "collisionCount" in old:
        status["collisionCount"] = old["collisionCount"]
    if "conditions" in old:
        status["conditions"] = old["conditions"]
    return status
