"""Preemption: the victims on each node that would let a pod fit, and the best candidate node. Pure.

Only pods of lower priority are victims, as few and as low as possible. All possible victims are removed
first; if the pod fits then, they are reprieved one by one, the most important first, as long as it still
fits. Victims protected by a PodDisruptionBudget are reprieved before the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.nodes import NodeTable
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.objects.selectors import LabelSelector

__all__ = [
    "DisruptionBudget",
    "PreemptionCandidate",
    "PreemptionResults",
    "Trial",
    "cheapest",
    "is_more_important",
    "violating",
]

#: Makes every priority positive, so that fewer victims are always the smaller sum.
_PRIORITY_SHIFT: Final = 2**31
#: Later than any time: a pod that has not started is the least important.
_NOT_STARTED: Final = "~"
#: For so many kinds of pods findings are kept.
_KEPT: Final = 16
_NO_VICTIMS: Final = Refusal(
    "DefaultPreemption", ("No preemption victims found for incoming pod",), resolvable=False
)


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget: how many more of its pods may be evicted."""

    namespace: str
    selector: LabelSelector
    allowed: int
    #: Pods whose going is counted already.
    disrupted: frozenset[str] = frozenset()

    def protects(self, pod: PodInfo) -> bool:
        return (
            pod.namespace == self.namespace
            and not self.selector.empty
            and self.selector.matches(pod.labels)
            and pod.name not in self.disrupted
        )


@dataclass(frozen=True, slots=True)
class PreemptionCandidate:
    """A node and its victims, the most important first."""

    node: str
    victims: tuple[PodInfo, ...]
    violations: int

    @property
    def cost(self) -> tuple[int, int, int, int]:
        priorities = [pod.priority for pod in self.victims]
        return (
            self.violations,
            priorities[0],
            sum(priority + _PRIORITY_SHIFT for priority in priorities),
            len(priorities),
        )

    @property
    def started(self) -> str:
        """Since when the oldest of the most important victims runs."""
        highest = self.victims[0].priority
        return min(pod.started or _NOT_STARTED for pod in self.victims if pod.priority == highest)


def cheapest(candidates: Sequence[PreemptionCandidate]) -> PreemptionCandidate:
    """The one that hurts least; among equals, the one whose victims have run for the shortest time."""
    least = min(candidate.cost for candidate in candidates)
    return max((each for each in candidates if each.cost == least), key=lambda each: each.started)


def is_more_important(pod: PodInfo) -> tuple[int, str]:
    """A key that sorts the most important pods first: by priority, then those that run longer."""
    return (-pod.priority, pod.started or _NOT_STARTED)


def violating(
    pods: Iterable[PodInfo], budgets: Sequence[DisruptionBudget]
) -> tuple[list[PodInfo], list[PodInfo]]:
    """Those whose going, in this order, would violate a budget, and the others."""
    left = [budget.allowed for budget in budgets]
    protected: list[PodInfo] = []
    free: list[PodInfo] = []
    for pod in pods:
        violates = False
        if pod.labels:
            for number, budget in enumerate(budgets):
                if budget.protects(pod):
                    left[number] -= 1
                    if left[number] < 0:
                        violates = True
                        break
        (protected if violates else free).append(pod)
    return protected, free


@dataclass(frozen=True, slots=True)
class Trial:
    """Dry runs of preemption for one pod. `check` and `simulate` run the profile's filters."""

    check: Callable[[CycleState, PodInfo, NodeInfo], Refusal | None]
    simulate: Callable[[CycleState, PodInfo, PodInfo, NodeInfo, int], None]
    budgets: Sequence[DisruptionBudget]

    def victims_on(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> PreemptionCandidate | Refusal:
        """Who would have to go from the node, or why that would not help."""
        lower = [other for other in node.pods.values() if other.priority < pod.priority]
        if not lower:
            return _NO_VICTIMS
        cycle, node = cycle.copy(), node.copy()
        for other in lower:
            self.simulate(cycle, pod, other, node, -1)
        refusal = self.check(cycle, pod, node)
        if refusal is not None:
            return refusal
        protected, free = violating(sorted(lower, key=is_more_important), self.budgets)
        victims = [each for each in protected if not self._stays(cycle, pod, each, node)]
        violations = len(victims)
        victims += [each for each in free if not self._stays(cycle, pod, each, node)]
        return PreemptionCandidate(node.name, tuple(sorted(victims, key=is_more_important)), violations)

    def _stays(self, cycle: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo) -> bool:
        """Put a pod back if the node has room for it, too."""
        self.simulate(cycle, pod, other, node, 1)
        if self.check(cycle, pod, node) is None:
            return True
        self.simulate(cycle, pod, other, node, -1)
        return False


class PreemptionResults:
    """Remembered results of dry runs on unchanged nodes, for pods with the same signature."""

    __slots__ = ("_kept", "_nodes")

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._kept: OrderedDict[Hashable, tuple[int, dict[str, PreemptionCandidate | Refusal]]] = (
            OrderedDict()
        )

    def of(self, alike: Hashable) -> dict[str, PreemptionCandidate | Refusal]:
        """By the node's name; the caller adds to it. `alike` is the same for pods that are alike."""
        seen, found = self._kept.pop(alike, (0, {}))
        if found:
            for row in self._nodes.changed_since(seen):
                node = self._nodes.rows[row]
                if node is not None:
                    found.pop(node.name, None)
        self._kept[alike] = (self._nodes.generation, found)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found
