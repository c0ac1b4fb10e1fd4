"""The InterPodAffinity plugin: filters and scores nodes by the pods in the same topology domain.

A node is rejected by the pod's required affinity (no matching pod in the domain), by its required
anti-affinity (a matching pod in the domain), or by the required anti-affinity of existing pods. Preferred
terms of both sides are scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState, StateData
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import MAX_SCORE
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.affinity import AffinityTerm
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.pod_counts import Contribution, PodCountsCache

__all__ = ["InterPodAffinity"]

_NAME: Final = "InterPodAffinity"
_NOT_NEAR: Final = Refusal(_NAME, ("node(s) didn't match pod affinity rules",), resolvable=False)
_NOT_FAR: Final = Refusal(_NAME, ("node(s) didn't match pod anti-affinity rules",))
_UNWANTED: Final = Refusal(_NAME, ("node(s) didn't satisfy existing pods anti-affinity rules",))
#: What the required affinity of a pod that is there counts as a wish for those it wants near.
_HARD_WEIGHT: Final = 1

#: How many pods there are, by a label of nodes and its value.
Counts = Mapping[Hashable, int]
_Deltas = defaultdict[Hashable, int]


def _no_deltas() -> _Deltas:
    return defaultdict(int)


@dataclass(slots=True)
class _Note(StateData):
    """The PreFilter state: matching pods by topology, as a simulation changes them."""

    #: Pods that the pod needs (all terms match one), pods it avoids, pods that avoid it.
    needed: Counts
    avoided: Counts
    avoiding: Counts
    #: Whether the pod is one of those it needs, and may be the first.
    needs_itself: bool
    needed_deltas: _Deltas = field(default_factory=_no_deltas)
    avoided_deltas: _Deltas = field(default_factory=_no_deltas)
    avoiding_deltas: _Deltas = field(default_factory=_no_deltas)

    def copy(self) -> _Note:
        deltas = (self.needed_deltas, self.avoided_deltas, self.avoiding_deltas)
        return _Note(
            self.needed,
            self.avoided,
            self.avoiding,
            self.needs_itself,
            *(defaultdict(int, each) for each in deltas),
        )

    @property
    def may_be_first(self) -> bool:
        if not self.needs_itself:
            return False
        return not any(count + self.needed_deltas.get(place, 0) > 0 for place, count in self.needed.items())


class InterPodAffinity:
    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._nodes = handle.nodes
        self._labels_of = handle.namespace_labels
        self._namespaces_changed = handle.namespaces_changed
        self._tallies = PodCountsCache(handle.nodes)

    # --- filtering

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | Skip | None:
        if pod.problem:
            return Refusal(self.name, (f"parsing pod: {pod.problem}",), resolvable=False)
        affinity = pod.affinity
        avoiding = self._avoiding(pod) if self._nodes.repelling_pods else {}
        if not avoiding and not affinity.required and not affinity.required_anti:
            return SKIP
        needs_itself = all(term.matches(pod, self._labels_of) for term in affinity.required)
        note = _Note(
            self._needed(pod) if affinity.required else {},
            self._avoided(pod) if affinity.required_anti else {},
            avoiding,
            bool(affinity.required) and needs_itself,
        )
        cycle.write(self.name, note)
        return None

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        note, labels, affinity = cycle.read(self.name, _Note), node.labels, pod.affinity
        near = True
        for term in affinity.required:
            place = _place(term, labels)
            if place is None:
                return _NOT_NEAR
            near = near and note.needed.get(place, 0) + note.needed_deltas.get(place, 0) > 0
        if not near and not note.may_be_first:
            return _NOT_NEAR
        for term in affinity.required_anti:
            place = _place(term, labels)
            if place is not None and note.avoided.get(place, 0) + note.avoided_deltas.get(place, 0) > 0:
                return _NOT_FAR
        for place in {*note.avoiding, *note.avoiding_deltas}:
            key, value = _parts(place)
            count = note.avoiding.get(place, 0) + note.avoiding_deltas.get(place, 0)
            if count > 0 and labels.get(key) == value:
                return _UNWANTED
        return None

    def refused_rows(self, cycle: CycleState, pod: PodInfo) -> Iterator[tuple[Refusal, Iterable[int]]]:
        note = cycle.read(self.name, _Note)
        for key in dict.fromkeys(term.topology_key for term in pod.affinity.required):
            for value, rows in self._nodes.label(key).rows.items():
                if value is None or not (note.may_be_first or (key, value) in note.needed):
                    yield _NOT_NEAR, rows
        for counts, refusal in ((note.avoided, _NOT_FAR), (note.avoiding, _UNWANTED)):
            for key, values in _by_key(counts).items():
                rows_of = self._nodes.label(key).rows.get
                yield refusal, chain.from_iterable(filter(None, map(rows_of, values)))

    def simulate(self, cycle: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int) -> None:
        note = cycle.read(self.name, _Note)
        required = pod.affinity.required
        if required and all(term.matches(other, self._labels_of) for term in required):
            _add(note.needed_deltas, required, node, sign)
        avoided = [term for term in pod.affinity.required_anti if term.matches(other, self._labels_of)]
        _add(note.avoided_deltas, avoided, node, sign)
        avoiding = [term for term in other.affinity.required_anti if term.matches(pod, self._labels_of)]
        _add(note.avoiding_deltas, avoiding, node, sign)

    def _needed(self, pod: PodInfo) -> Counts:
        terms, labels_of = pod.affinity.required, self._labels_of

        def contribution(node: NodeInfo) -> Contribution | None:
            count = sum(all(term.matches(each, labels_of) for term in terms) for each in node.pods.values())
            return _placed(terms, node, count) if count else None

        return self._tallies.totals(("needed", pod.affinity, self._namespaces_changed()), contribution)

    def _avoided(self, pod: PodInfo) -> Counts:
        terms, labels_of = pod.affinity.required_anti, self._labels_of

        def contribution(node: NodeInfo) -> Contribution | None:
            if not node.pods:
                return None
            met = [term for term in terms for each in node.pods.values() if term.matches(each, labels_of)]
            return _placed(met, node, 1) if met else None

        return self._tallies.totals(("avoided", pod.affinity, self._namespaces_changed()), contribution)

    def _avoiding(self, pod: PodInfo) -> Counts:
        labels_of = self._labels_of

        def contribution(node: NodeInfo) -> Contribution | None:
            if not node.repelling:
                return None
            met = [
                term
                for each in node.repelling.values()
                for term in each.affinity.required_anti
                if term.matches(pod, labels_of)
            ]
            return _placed(met, node, 1) if met else None

        return self._tallies.totals(("avoiding", *self._identity(pod)), contribution)

    def _identity(self, pod: PodInfo) -> tuple[Hashable, ...]:
        """What terms of other pods look at."""
        return pod.namespace, tuple(pod.labels.items()), self._namespaces_changed()

    # --- scoring

    def pre_score(self, cycle: CycleState, pod: PodInfo) -> Skip | None:
        if not self._nodes.affine_pods and not pod.affinity.preferred and not pod.affinity.preferred_anti:
            return SKIP
        wishes = self._preferred_counts(pod)
        keys = {_parts(place)[0] for place in wishes}
        if all(len(self._nodes.label(key).rows) == 1 for key in keys):
            # All nodes are in one place: it is the same for all.
            return SKIP
        cycle.write("wishes of pods", wishes)
        return None

    def score_rows(self, cycle: CycleState, pod: PodInfo, rows: Sequence[int]) -> Sequence[int]:
        wishes: dict[str, dict[str | None, int]] = {}
        for place, weight in cycle.read("wishes of pods", dict).items():
            key, value = _parts(place)
            wishes.setdefault(key, {})[value] = weight
        scores = [0] * len(rows)
        for key, weights in wishes.items():
            column = self._nodes.label(key).values
            scores = [score + weights.get(column[row], 0) for score, row in zip(scores, rows, strict=True)]
        return scores

    def normalize(self, cycle: CycleState, pod: PodInfo, scores: Sequence[int]) -> Sequence[int]:
        lowest, highest = min(scores), max(scores)
        span = highest - lowest
        if not span:
            return [0] * len(scores)
        return [int(MAX_SCORE * ((score - lowest) / span)) for score in scores]

    def _preferred_counts(self, pod: PodInfo) -> Counts:
        """What speaks for each place: wishes of the pod and of pods that are there."""
        affinity, labels_of = pod.affinity, self._labels_of
        own = [(term, term.weight) for term in affinity.preferred]
        own += [(term, -term.weight) for term in affinity.preferred_anti]

        def contribution(node: NodeInfo) -> Contribution | None:
            others = node.pods if own else node.affine
            if not others:
                return None
            sums: dict[Hashable, int] = {}
            for other in others.values():
                for term, weight in own:
                    if term.matches(other, labels_of):
                        _note(sums, term, node, weight)
                for term, weight in _weighted(other):
                    if term.matches(pod, labels_of):
                        _note(sums, term, node, weight)
            return sums or None

        wishing = affinity if own else None
        return self._tallies.totals(("wishes", wishing, *self._identity(pod)), contribution)

    # --- waking

    @property
    def hints(self) -> Hints:
        return {
            EventKind.POD_ADDED: self._on_pod_added,
            EventKind.POD_DELETED: self._on_pod_deleted,
            EventKind.POD_LABELS: self._on_pod_changed,
            EventKind.TARGET_LABELS: None,
            EventKind.NODE_ADDED: _places_change,
            EventKind.NODE_LABELS: _places_change,
        }

    def _on_pod_added(self, pod: PodInfo, what: ClusterEvent) -> bool:
        return what.new_pod is not None and self._is_needed(pod, what.new_pod)

    def _on_pod_deleted(self, pod: PodInfo, what: ClusterEvent) -> bool:
        old = what.old_pod
        if old is None:
            return False
        met = [
            *((term, old) for term in pod.affinity.required_anti),
            *((t, pod) for t in old.affinity.required_anti),
        ]
        return any(term.matches(each, self._labels_of) for term, each in met)

    def _on_pod_changed(self, pod: PodInfo, what: ClusterEvent) -> bool:
        old, new = what.old_pod, what.new_pod
        if old is None or new is None:
            return True
        if self._is_needed(pod, new) and not self._is_needed(pod, old):
            return True
        avoided = [
            any(term.matches(each, self._labels_of) for term in pod.affinity.required_anti)
            for each in (old, new)
        ]
        return avoided[0] and not avoided[1]

    def _is_needed(self, pod: PodInfo, other: PodInfo) -> bool:
        terms = pod.affinity.required
        return bool(terms) and all(term.matches(other, self._labels_of) for term in terms)


def _place(term: AffinityTerm, labels: Mapping[str, str]) -> Hashable | None:
    """Where the node is, by the term's label."""
    value = labels.get(term.topology_key)
    return None if value is None else (term.topology_key, value)


def _parts(place: Hashable) -> tuple[str, str]:
    assert isinstance(place, tuple)
    return place


def _by_key(counts: Counts) -> dict[str, list[str]]:
    """The values of each label."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in map(_parts, counts):
        found[key].append(value)
    return found


def _placed(terms: Sequence[AffinityTerm], node: NodeInfo, count: int) -> Contribution:
    sums: dict[Hashable, int] = {}
    for term in terms:
        _note(sums, term, node, count)
    return sums


def _note(sums: dict[Hashable, int], term: AffinityTerm, node: NodeInfo, amount: int) -> None:
    place = _place(term, node.facts.labels)
    if place is not None:
        sums[place] = sums.get(place, 0) + amount


def _add(deltas: _Deltas, terms: Sequence[AffinityTerm], node: NodeInfo, amount: int) -> None:
    for term in terms:
        _note(deltas, term, node, amount)


def _weighted(other: PodInfo) -> list[tuple[AffinityTerm, int]]:
    """What a pod that is there wishes of those that come."""
    affinity = other.affinity
    return [
        *((term, _HARD_WEIGHT) for term in affinity.required),
        *((term, term.weight) for term in affinity.preferred),
        *((term, -term.weight) for term in affinity.preferred_anti),
    ]


def _places_change(pod: PodInfo, what: ClusterEvent) -> bool:
    old, new = what.old_node, what.new_node
    if new is None:
        return False
    for term in pod.affinity.required:
        value = new.labels.get(term.topology_key)
        if value is not None and (old is None or old.labels.get(term.topology_key) != value):
            return True
    for term in pod.affinity.required_anti:
        before = None if old is None else old.labels.get(term.topology_key)
        if old is None or (before is not None and before != new.labels.get(term.topology_key)):
            return True
    return False
