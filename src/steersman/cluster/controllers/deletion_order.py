"""The order in which the pods of a ReplicaSet or Job are deleted on scale-down: the least useful first. Pure.

The first difference decides:

| goes first            | before                                        |
|-----------------------|-----------------------------------------------|
| has no node           | has one                                       |
| pending               | unknown, running                              |
| not ready             | ready                                         |
| lower deletion cost   | higher (annotation, 0 unless given)           |
| node shared with many | node shared with few of the same owner's pods |
| ready for less time   | ready for longer, by powers of two            |
| more restarts         | fewer, of containers and then of sidecars     |
| created later         | created earlier, by powers of two             |

Times that are alike in powers of two are decided by uid: among equals, chance.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from steersman.cluster.controllers.pod_states import PodState
from steersman.objects.times import parse_time

__all__ = ["DELETION_COST", "first_to_go"]

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS: Final = 1e9
_is_integer = re.compile(r"0|[-+]?[1-9][0-9]*").fullmatch


def first_to_go(
    pods: Sequence[PodState], count: int, related: Iterable[PodState], now: datetime
) -> list[PodState]:
    """`count` of the pods; `related` are all pods of the same owner's owner, told apart by node."""
    if count >= len(pods):
        return list(pods)
    on_node = Counter(pod.node for pod in related if pod.active)
    return sorted(pods, key=lambda pod: _rank(pod, on_node[pod.node], now))[:count]


def _rank(pod: PodState, neighbours: int, now: datetime) -> tuple[Any, ...]:
    ready = pod.ready
    return (
        bool(pod.node),
        _PHASES.get(pod.phase, 0),
        ready,
        _cost(pod),
        -neighbours,
        _age(pod.ready_since, now) if ready else 0,
        *(-restarts for restarts in _restarts(pod)),
        _age(pod.metadata.creation_timestamp, now),
        pod.uid,
    )


def _cost(pod: PodState) -> int:
    text = pod.annotations.get(DELETION_COST, "0")
    cost = int(text) if _is_integer(text) else 0
    return cost if -(2**31) <= cost < 2**31 else 0


def _age(since: str | None, now: datetime) -> int:
    """The power of two of an age, -1 for none at all; a time nobody knows is younger than any."""
    if since is None:
        return -2
    nanoseconds = (now - parse_time(since)).total_seconds() * _NANOSECONDS
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _restarts(pod: PodState) -> tuple[int, int]:
    """The most restarts of any container, and of any sidecar."""
    sidecars = {container.name for container in pod.spec.init_containers if container.is_sidecar}
    status = pod.status
    containers = [one.restart_count for one in status.container_statuses]
    beside = [one.restart_count for one in status.init_container_statuses if one.name in sidecars]
    return max(containers, default=0), max(beside, default=0)
