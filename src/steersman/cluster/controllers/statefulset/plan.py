"""The next steps of a StatefulSet: creating, deleting and updating pods in order or in parallel. Pure: the
set, its pods and the time in, steps out.

With `OrderedReady`, a pod is touched only when all before it are available; so there is at most one step at a
time. With `Parallel`, all steps come at once. Scaling goes before updating. Without steps, nothing changes
until an object does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from steersman.cluster.controllers.int_or_percent import scaled_value
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.statefulset.identity import (
    count,
    is_parallel,
    ordinal_of,
    partition,
    revision_of,
    start,
)
from steersman.objects.kinds.types.apps_v1 import StatefulSet

__all__ = ["ClaimState", "Members", "PodStep", "next_steps", "sorted_out"]


class PodStep(NamedTuple):
    """A step for the pod of one ordinal.

    create    make it, and its claims         delete  delete it
    claims    make the claims that it lacks   update  put its labels, volumes and claims right
    retain    put its claims' owners right
    """

    action: Literal["create", "delete", "claims", "update", "retain"]
    ordinal: int


class ClaimState(Protocol):
    """The state of pods' claims, which is not in `PodState`."""

    def is_stale(self, ordinal: int) -> bool:
        """Whether a claim still goes with an earlier pod, so that none can be made yet."""
        ...

    def is_missing(self, ordinal: int) -> bool:
        """Whether a claim of the pod is not there."""
        ...

    def is_right(self, pod: PodState) -> bool:
        """Whether the pod's labels and volumes are the set's."""
        ...

    def is_retained(self, pod: PodState) -> bool:
        """Whether the owners of the pod's claims are as the retention policy says."""
        ...


@dataclass(frozen=True, slots=True)
class Members:
    """The pods of a set: those of the wanted ordinals (None: missing), and the others, highest first."""

    first: int
    replicas: Sequence[PodState | None]
    condemned: Sequence[PodState]

    def numbered(self) -> Iterator[tuple[int, PodState | None]]:
        return enumerate(self.replicas, self.first)


def sorted_out(stateful_set: StatefulSet, pods: Sequence[PodState]) -> Members:
    first, wanted = start(stateful_set), count(stateful_set)
    by_ordinal = {ordinal_of(pod.name): pod for pod in pods}
    replicas = [by_ordinal.pop(ordinal, None) for ordinal in range(first, first + wanted)]
    condemned = [by_ordinal[ordinal] for ordinal in sorted(by_ordinal, reverse=True) if ordinal >= 0]
    return Members(first, replicas, condemned)


def next_steps(
    stateful_set: StatefulSet, members: Members, storage: ClaimState, update_revision: str, now: datetime
) -> list[PodStep]:
    min_ready_s = stateful_set["spec"].get("minReadySeconds") or 0
    judge = _Judge(min_ready_s, now)
    if is_parallel(stateful_set):
        steps = [step for ordinal, pod in members.numbered() for step in _due(ordinal, pod, storage)]
        steps += _retaining(members, storage)
        steps += [PodStep("delete", ordinal_of(pod.name)) for pod in members.condemned if not pod.deleting]
        return steps or _updates(stateful_set, members, update_revision, judge)
    steps = []
    for ordinal, pod in members.numbered():
        due = _due(ordinal, pod, storage)
        if pod is None or not judge.is_available(pod):
            # Only what is wrong with this one, and then it is waited for.
            return steps + [step for step in due if step.action != "update"]
        steps += due
    steps += _retaining(members, storage)
    if members.condemned:
        return steps + _first_condemned(members, judge)
    return steps or _updates(stateful_set, members, update_revision, judge)


class _Judge(NamedTuple):
    """The functions that decide whether a pod is available or must be replaced."""

    min_ready_s: int
    now: datetime

    def is_available(self, pod: PodState | None) -> bool:
        return (
            pod is not None
            and not pod.deleting
            and pod.phase == "Running"
            and pod.available(self.min_ready_s, self.now)
        )


def _due(ordinal: int, pod: PodState | None, storage: ClaimState) -> list[PodStep]:
    """What is to be done about a pod that is wanted, whatever the others are like."""
    if pod is None:
        return [] if storage.is_stale(ordinal) else [PodStep("create", ordinal)]
    if pod.terminal:
        # Whatever its exit code was: it should run. A new one is made when this one is gone.
        return [] if pod.deleting else [PodStep("delete", ordinal)]
    steps = []
    retained = storage.is_retained(pod)
    if pod.phase == "Pending" and (storage.is_missing(ordinal) or not retained):
        steps.append(PodStep("claims", ordinal))
        retained = True
    if not storage.is_right(pod) or not retained:
        steps.append(PodStep("update", ordinal))
    return steps


def _retaining(members: Members, storage: ClaimState) -> list[PodStep]:
    return [
        PodStep("retain", ordinal_of(pod.name)) for pod in members.condemned if not storage.is_retained(pod)
    ]


def _first_condemned(members: Members, judge: _Judge) -> list[PodStep]:
    """The highest pod goes, unless there is a lower one that has to become available first."""
    highest = members.condemned[0]
    unavailable = [pod for pod in reversed(members.condemned) if not judge.is_available(pod)]
    if highest.deleting or (not judge.is_available(highest) and unavailable[0] is not highest):
        return []
    return [PodStep("delete", ordinal_of(highest.name))]


def _updates(stateful_set: StatefulSet, members: Members, revision: str, judge: _Judge) -> list[PodStep]:
    """Which pods of an old revision go now, the highest first, so that not too many are unavailable."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return []
    rolling = strategy.get("rollingUpdate") or {}
    allowed = max(scaled_value(rolling.get("maxUnavailable") or 1, len(members.replicas), round_up=False), 1)
    unavailable = sum(not judge.is_available(pod) for pod in members.replicas)
    old = [
        pod
        for pod in reversed(members.replicas[partition(stateful_set) or 0 :])
        if pod is not None and not pod.deleting and revision_of(pod) != revision
    ]
    if is_parallel(stateful_set):
        # Those that are not available anyway go first and cost nothing.
        broken = [pod for pod in old if not judge.is_available(pod)]
        whole = [pod for pod in old if judge.is_available(pod)]
        chosen = broken + whole[: max(allowed - unavailable, 0)]
    else:
        chosen = old[: max(allowed - unavailable, 0)]
    return [PodStep("delete", ordinal_of(pod.name)) for pod in chosen]
