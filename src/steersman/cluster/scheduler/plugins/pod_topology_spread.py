"""The PodTopologySpread plugin: spreads matching pods over topology domains.

A DoNotSchedule constraint rejects a node if its domain would exceed the emptiest by more than `maxSkew`; a
ScheduleAnyway constraint scores nodes of emptier domains higher. Pods without constraints get default ones if
a Service or controller selects them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from operator import add
from typing import Final, TypeVar

from steersman.cluster.scheduler.framework.cycle_state import CycleState, StateData
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import MAX_SCORE
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.label_column import LabelColumn
from steersman.cluster.scheduler.model.node import NodeFacts, NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.model.spreading import HOSTNAME, TopologySpreadConstraint
from steersman.cluster.scheduler.model.tolerations import untolerated
from steersman.cluster.scheduler.plugins.default_spreading import DefaultSpreading
from steersman.cluster.scheduler.pod_counts import Contribution, PodCountsCache

__all__ = ["PodTopologySpread"]

_NAME: Final = "PodTopologySpread"
_TEXT: Final = "node(s) didn't match pod topology spread constraints"
_UNEVEN: Final = Refusal(_NAME, (_TEXT,))
_UNLABELED: Final = Refusal(_NAME, (f"{_TEXT} (missing required label)",), resolvable=False)
_IGNORED: Final = -1

S = TypeVar("S")
T = TypeVar("T")

#: What in a domain's count belongs to whom: by the value of the label.
Counts = Mapping[Hashable, int]


@dataclass(slots=True)
class _Hard:
    """A DoNotSchedule constraint, and the matching pods of each domain."""

    constraint: TopologySpreadConstraint
    counts: Counts
    #: Whether the pod counts itself.
    own: int
    #: The two emptiest domains: a simulation changes at most one domain.
    _lowest: list[tuple[int, str]] | None = None

    def most(self, deltas: Mapping[Hashable, int]) -> int:
        """How many pods a domain may have at most for one more to be allowed."""
        if len(self.counts) < self.constraint.min_domains:
            return self.constraint.max_skew - self.own
        if self._lowest is None:
            pairs = ((count, str(value)) for value, count in self.counts.items())
            self._lowest = heapq.nsmallest(2, pairs)
        lowest = min(count + deltas.get(value, 0) for count, value in self._lowest)
        for value, delta in deltas.items():
            if value in self.counts:
                lowest = min(lowest, self.counts[value] + delta)
        return lowest + self.constraint.max_skew - self.own


@dataclass(slots=True)
class _Note(StateData):
    """The PreFilter state: the constraints, and the counts as a simulation changes them."""

    hard: list[_Hard]
    deltas: list[dict[Hashable, int]] = field(default_factory=list)

    def copy(self) -> _Note:
        return _Note(self.hard, [dict(each) for each in self.deltas])


@dataclass(frozen=True, slots=True)
class _Soft:
    """A ScheduleAnyway constraint, and the matching pods of each domain."""

    constraints: Sequence[TopologySpreadConstraint]
    #: Whether nodes that lack one of the labels are left out.
    strict: bool


class PodTopologySpread:
    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._nodes = handle.nodes
        self._tallies = PodCountsCache(handle.nodes)
        self._defaults = DefaultSpreading(handle.cache)
        self.resources = self._defaults.resources

    # --- filtering

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | Skip | None:
        if pod.problem:
            return Refusal(self.name, (pod.problem,), resolvable=False)
        constraints = [each.of(pod.labels) for each in pod.constraints if each.hard]
        if not constraints:
            return SKIP
        keys = tuple(each.topology_key for each in constraints)
        hard = [
            _Hard(each, self._counts(each, pod, keys), int(each.selector.matches(pod.labels)))
            for each in constraints
        ]
        cycle.write(self.name, _Note(hard, [{} for _ in hard]))
        return None

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        note = cycle.read(self.name, _Note)
        for hard, deltas in zip(note.hard, note.deltas, strict=True):
            value = node.labels.get(hard.constraint.topology_key)
            if value is None:
                return _UNLABELED
            if hard.counts.get(value, 0) + deltas.get(value, 0) > hard.most(deltas):
                return _UNEVEN
        return None

    def refused_rows(self, cycle: CycleState, pod: PodInfo) -> Iterator[tuple[Refusal, Iterable[int]]]:
        note = cycle.read(self.name, _Note)
        for hard, deltas in zip(note.hard, note.deltas, strict=True):
            most = hard.most(deltas)
            rows = self._nodes.label(hard.constraint.topology_key).rows
            yield _UNLABELED, rows.get(None, ())
            for value, count in hard.counts.items():
                if count > most:
                    yield _UNEVEN, rows.get(str(value), ())

    def simulate(self, cycle: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int) -> None:
        note = cycle.read(self.name, _Note)
        if other.namespace != pod.namespace or other.deleting:
            return
        if any(hard.constraint.topology_key not in node.labels for hard in note.hard):
            return
        for hard, deltas in zip(note.hard, note.deltas, strict=True):
            constraint = hard.constraint
            if constraint.selector.matches(other.labels) and _counts_here(constraint, pod, node.facts):
                value = node.labels[constraint.topology_key]
                deltas[value] = deltas.get(value, 0) + sign

    def _counts(self, constraint: TopologySpreadConstraint, pod: PodInfo, keys: tuple[str, ...]) -> Counts:
        """The pods of each domain; nodes without all the labels or that the pod cannot go to are left out."""

        def contribution(node: NodeInfo) -> Contribution | None:
            labels = node.facts.labels
            if not all(key in labels for key in keys) or not _counts_here(constraint, pod, node.facts):
                return None
            return {labels[constraint.topology_key]: _alike(constraint, namespace, node)}

        namespace = pod.namespace
        return self._tallies.totals((constraint, namespace, keys, *_inclusion(constraint, pod)), contribution)

    # --- scoring

    def pre_score(self, cycle: CycleState, pod: PodInfo) -> Skip | None:
        if pod.constraints:
            soft = _Soft([each.of(pod.labels) for each in pod.constraints if not each.hard], strict=True)
        else:
            soft = _Soft(self._defaults.constraints(pod), strict=False)
        if not soft.constraints:
            return SKIP
        cycle.write("soft spreading", soft)
        return None

    def score_rows(self, cycle: CycleState, pod: PodInfo, rows: Sequence[int]) -> Sequence[int]:
        """How many pods alike there are near each node; nodes that cannot be compared are ignored."""
        soft = cycle.read("soft spreading", _Soft)
        labels = [self._nodes.label(each.topology_key) for each in soft.constraints]
        ignored: set[int] = set()
        if soft.strict:
            ignored = {row for row in rows if any(label.values[row] is None for label in labels)}
        keys = tuple(each.topology_key for each in soft.constraints) if soft.strict else ()
        counted = [row for row in rows if row not in ignored] if ignored else rows
        crowds: Sequence[float] = [0.0] * len(counted)
        for constraint, label in zip(soft.constraints, labels, strict=True):
            crowds = list(map(add, crowds, self._crowds(constraint, pod, label, keys, counted)))
        scores = _mapped(lambda crowd: int(crowd + 0.5), crowds)
        if not ignored:
            return scores
        by_row = dict(zip(counted, scores, strict=True))
        return [by_row.get(row, _IGNORED) for row in rows]

    def _crowds(
        self,
        constraint: TopologySpreadConstraint,
        pod: PodInfo,
        label: LabelColumn,
        keys: tuple[str, ...],
        rows: Sequence[int],
    ) -> Sequence[float]:
        """What a constraint adds to the rows' scores. Few large domains weigh as much as many small ones."""
        added = float(constraint.max_skew - 1)
        if constraint.topology_key == HOSTNAME:
            weight = log(len(rows) + 2)
            alike = list(map(self._alike_by_row(constraint, pod.namespace).get, rows))
            crowds = _mapped(lambda count: (count or 0) * weight + added, alike)
            unlabeled = label.rows.get(None)
            if not unlabeled:
                return crowds
            return [0.0 if row in unlabeled else crowd for row, crowd in zip(rows, crowds, strict=True)]
        values = list(map(label.values.__getitem__, rows))
        weight = log(len(set(values)) + 2)
        counts = self._counts(constraint, pod, keys or (constraint.topology_key,))
        return _mapped(lambda value: 0.0 if value is None else counts.get(value, 0) * weight + added, values)

    def _alike_by_row(self, constraint: TopologySpreadConstraint, namespace: str) -> Counts:
        def contribution(node: NodeInfo) -> Contribution | None:
            count = _alike(constraint, namespace, node)
            return {node.row: count} if count else None

        return self._tallies.totals((constraint, namespace), contribution)

    def normalize(self, cycle: CycleState, pod: PodInfo, scores: Sequence[int]) -> Sequence[int]:
        counted = set(scores) - {_IGNORED}
        highest, lowest = max(counted, default=0), min(counted, default=0)

        def normal(score: int) -> int:
            if score == _IGNORED:
                return 0
            return MAX_SCORE * (highest + lowest - score) // highest if highest else MAX_SCORE

        return _mapped(normal, scores)

    # --- waking

    @property
    def hints(self) -> Hints:
        return {
            EventKind.POD_ADDED: _counts_change,
            EventKind.POD_DELETED: _counts_change,
            EventKind.POD_LABELS: _counts_change,
            EventKind.TARGET_LABELS: None,
            EventKind.TARGET_TOLERATIONS: lambda pod, _: any(each.honors_taints for each in pod.constraints),
            EventKind.NODE_ADDED: _domains_change,
            EventKind.NODE_DELETED: _domains_change,
            EventKind.NODE_LABELS: _domains_change,
            EventKind.NODE_TAINTS: _domains_change,
        }


def _mapped(function: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """The function of each item, called once for those that are the same: many are."""
    results = {item: function(item) for item in set(items)}
    return list(map(results.__getitem__, items))


def _inclusion(constraint: TopologySpreadConstraint, pod: PodInfo) -> tuple[Hashable, ...]:
    return (
        pod.node_affinity if constraint.honors_affinity else None,
        pod.tolerations if constraint.honors_taints else None,
    )


def _counts_here(constraint: TopologySpreadConstraint, pod: PodInfo, node: NodeFacts) -> bool:
    if constraint.honors_affinity and not pod.node_affinity.allows(node.name, node.labels):
        return False
    return not constraint.honors_taints or untolerated(node.taints, pod.tolerations) is None


def _alike(constraint: TopologySpreadConstraint, namespace: str, node: NodeInfo) -> int:
    """How many pods of the node are counted. A selector that selects everything counts nobody."""
    if not node.pods or constraint.selector.empty:
        return 0
    matches = constraint.selector.matches
    return sum(
        each.namespace == namespace and not each.deleting and matches(each.labels)
        for each in node.pods.values()
    )


def _counts_change(pod: PodInfo, what: ClusterEvent) -> bool:
    old, new = what.old_pod, what.new_pod
    if any(each is not None and each.namespace != pod.namespace for each in (old, new)):
        return False
    for constraint in pod.constraints:
        matches = constraint.of(pod.labels).selector.matches
        if (old is not None and matches(old.labels)) != (new is not None and matches(new.labels)):
            return True
    return False


def _domains_change(pod: PodInfo, what: ClusterEvent) -> bool:
    old, new = what.old_node, what.new_node
    keys = [each.topology_key for each in pod.constraints if each.hard]
    before = old is not None and all(key in old.labels for key in keys)
    after = new is not None and all(key in new.labels for key in keys)
    if before != after or old is None or new is None:
        return before or after
    return after and (any(old.labels[key] != new.labels[key] for key in keys) or old.taints != new.taints)
