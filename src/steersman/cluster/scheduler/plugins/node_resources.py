"""The NodeResourcesFit and NodeResourcesBalancedAllocation plugins: requested against allocatable
resources.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Final, Literal

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.plugin import MAX_SCORE
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.node import NodeFacts, NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]

_NAME: Final = "NodeResourcesFit"


@lru_cache(256)
def _insufficient(reasons: tuple[str, ...], resolvable: bool) -> Refusal:
    return Refusal(_NAME, reasons, resolvable)


class NodeResourcesFit:
    """Rejects nodes without enough free resources and scores the least allocated ones higher."""

    name = _NAME

    def __init__(self, strategy: Literal["LeastAllocated", "MostAllocated"] = "LeastAllocated") -> None:
        """`LeastAllocated` spreads load, `MostAllocated` fills nodes up."""
        self._score = _least_allocated if strategy == "LeastAllocated" else _most_allocated

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.requests

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        asked, has = pod.requests, node.facts.allocatable
        if (
            len(node.pods) < has.pods
            and asked.cpu <= has.cpu - node.cpu
            and asked.memory <= has.memory - node.memory
            and not asked.storage
            and not asked.others
        ):
            return None
        return _explain(pod, node)

    def score(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        asked, has = pod.requests, node.facts.allocatable
        total = counted = 0
        if has.cpu:
            total += self._score(node.usual_cpu + asked.usual_cpu, has.cpu)
            counted += 1
        if has.memory:
            total += self._score(node.usual_memory + asked.usual_memory, has.memory)
            counted += 1
        return total // counted if counted else 0

    @property
    def hints(self) -> Hints:
        return {
            EventKind.POD_DELETED: None,
            EventKind.POD_SHRUNK: None,
            EventKind.TARGET_SHRUNK: None,
            EventKind.NODE_ADDED: _fits_now,
            EventKind.NODE_ALLOCATABLE: _fits_now,
        }


def _explain(pod: PodInfo, node: NodeInfo) -> Refusal | None:
    """What there is not enough of; what the whole node has not got, no preemption can make room for."""
    asked, has = pod.requests, node.facts.allocatable
    reasons: list[str] = []
    resolvable = True
    if len(node.pods) >= has.pods:
        reasons.append("Too many pods")
    wanted = [
        ("cpu", asked.cpu, node.cpu, has.cpu),
        ("memory", asked.memory, node.memory, has.memory),
        ("ephemeral-storage", asked.storage, node.storage, has.storage),
        *((name, amount, node.others.get(name, 0), has.others.get(name, 0)) for name, amount in asked.others),
    ]
    for name, amount, used, capacity in wanted:
        if amount and amount > capacity - used:
            reasons.append(f"Insufficient {name}")
            resolvable = resolvable and amount <= capacity
    return _insufficient(tuple(reasons), resolvable) if reasons else None


def _least_allocated(used: int, capacity: int) -> int:
    return (capacity - used) * MAX_SCORE // capacity if used <= capacity else 0


def _most_allocated(used: int, capacity: int) -> int:
    return min(used, capacity) * MAX_SCORE // capacity


def _fits_now(pod: PodInfo, what: ClusterEvent) -> bool:
    old, new = what.old_node, what.new_node
    if new is None or _explain(pod, NodeInfo(new, 0)) is not None:
        return False
    return old is None or _has_more(pod, old, new)


def _has_more(pod: PodInfo, old: NodeFacts, new: NodeFacts) -> bool:
    """Whether the node has more of something that the pod asks for."""
    asked, was, has = pod.requests, old.allocatable, new.allocatable
    return (
        has.pods > was.pods
        or (asked.cpu > 0 and has.cpu > was.cpu)
        or (asked.memory > 0 and has.memory > was.memory)
        or (asked.storage > 0 and has.storage > was.storage)
        or any(amount and has.others.get(name, 0) > was.others.get(name, 0) for name, amount in asked.others)
    )


class NodeResourcesBalancedAllocation:
    """Scores nodes higher where CPU and memory would be used to similar fractions."""

    name = "NodeResourcesBalancedAllocation"

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.requests

    def score(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        asked, has = pod.requests, node.facts.allocatable
        if not (asked.cpu or asked.memory):
            return 0
        after = _balance(node.cpu + asked.cpu, has.cpu, node.memory + asked.memory, has.memory)
        before = _balance(node.cpu, has.cpu, node.memory, has.memory)
        half = MAX_SCORE // 2
        return half + (half + after - before) // 2


def _balance(cpu: int, all_cpu: int, memory: int, all_memory: int) -> int:
    """100 if the same part of both is used, less the more these parts differ."""
    if not all_cpu or not all_memory:
        return MAX_SCORE
    return int((1 - abs(min(cpu / all_cpu, 1.0) - min(memory / all_memory, 1.0)) / 2) * MAX_SCORE)
