"""Filtering and scoring of nodes for one pod. Does no I/O and never waits.

`Placer` belongs to one profile. Plugins with a signature answer from `NodeResults`; the others are called for
the remaining rows, in one call where they can.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import add
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.handle import Handle
from steersman.cluster.scheduler.framework.plugin import (
    ColumnFilter,
    ColumnScore,
    Filter,
    NormalizeScore,
    PreScore,
    Score,
)
from steersman.cluster.scheduler.framework.profile import Profile, Weighted
from steersman.cluster.scheduler.framework.verdicts import NoFit, OnlyNodes, Refusal, Skip
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.node_results import EMPTY, REFUSED, NodeResults, enough_nodes

__all__ = ["Placer"]

_REMEMBERED: Final = 64

_Filtering = Callable[[CycleState, PodInfo, list[int]], Iterable[tuple[Refusal, Iterable[int]]]]
_Scoring = Callable[[CycleState, PodInfo, Sequence[int]], Sequence[int]]


class Placer:
    """Finds the best node for pods of one profile."""

    def __init__(self, profile: Profile, handle: Handle, rand: random.Random | None = None) -> None:
        self._profile = profile
        self._nodes = handle.nodes
        self._nominations = handle.nominations
        self._rand = rand or random.Random()
        remembered = {plugin.name for plugin in profile.remembered}
        self._local_filters = [each for each in profile.filters if each.name in remembered]
        self._local_scores = [each for each in profile.scores if each.plugin.name in remembered]
        self._wide_filters = [
            (each.name, self._column_filter(each)) for each in profile.filters if each.name not in remembered
        ]
        self._wide_scores = [
            (each.plugin.pre_score if isinstance(each.plugin, PreScore) else None, self._column_score(each))
            for each in profile.scores
            if each.plugin.name not in remembered
        ]
        self._results_by_signature: OrderedDict[Hashable, NodeResults] = OrderedDict()
        #: The first row of the next `NodeResults`: different pods begin with different nodes.
        self._start = 0

    # --- the whole way

    def place(self, cycle: CycleState, pod: PodInfo) -> str | NoFit:
        """The name of the best node, or why there is none."""
        verdict = self._pre_filter(cycle, pod)
        if isinstance(verdict, Refusal):
            return NoFit(len(self._nodes), pod=verdict)
        promised = self._nodes.get(pod.nominated) if pod.nominated else None
        if promised is not None and self.check(cycle, pod, promised) is None:
            return promised.name
        if verdict is not None:
            return self._place_among(cycle, pod, verdict)
        results = self._node_results(pod, cycle)
        enough = enough_nodes(len(self._nodes))
        while True:
            results.refresh(cycle, pod, self._nodes, enough)
            totals = self._after_wide_filters(cycle, pod, results) if results.feasible else results.totals
            highest = max(totals)
            if highest >= 0:
                return self._name(self._best(cycle, pod, results, totals, highest))
            if results.complete:
                return self._no_fit(cycle, pod, results)

    def _pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | OnlyNodes | None:
        """A refusal, or the nodes that the pod is limited to."""
        only: OnlyNodes | None = None
        limiting: list[str] = []
        for plugin in self._profile.pre_filters:
            verdict = plugin.pre_filter(cycle, pod)
            if verdict is None:
                continue
            if isinstance(verdict, Refusal):
                return verdict
            if isinstance(verdict, Skip):
                cycle.skipped.add(plugin.name)
                continue
            limiting.append(plugin.name)
            only = verdict if only is None else OnlyNodes(only.names & verdict.names)
            if not only.names:
                text = f"node(s) didn't satisfy plugin(s) {_listed(limiting)} simultaneously"
                if len(limiting) == 1:
                    text = f"node(s) didn't satisfy plugin {limiting[0]}"
                return Refusal(",".join(limiting), (text,), resolvable=False)
        if only is not None:
            cycle.write("limiting", tuple(limiting))
        return only

    # --- few nodes

    def _place_among(self, cycle: CycleState, pod: PodInfo, only: OnlyNodes) -> str | NoFit:
        """The pod is limited to some nodes by name: they are few, each is asked about on its own."""
        rows: list[int] = []
        refusals: dict[str, Refusal] = {}
        for name in sorted(only.names):
            node = self._nodes.get(name)
            if node is None:
                continue
            refusal = self.check(cycle, pod, node)
            if refusal is None:
                rows.append(node.row)
            else:
                refusals[name] = refusal
        if not rows:
            limiting = cycle.read("limiting", tuple)
            unasked = Refusal(
                ",".join(limiting),
                (f"node(s) didn't satisfy plugin(s) {_listed(limiting)}",),
                resolvable=False,
            )
            return NoFit(len(self._nodes), refusals, unasked)
        totals = [0] * len(rows)
        local = [self._column_score(each) for each in self._local_scores]
        for score in (*local, *self._active_scores(cycle, pod)):
            totals = list(map(add, totals, score(cycle, pod, rows)))
        return self._name(rows[totals.index(max(totals))])

    def check(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        """What all filters say of one node, with and without the pods that are promised it."""
        weighty = [
            each
            for each in self._nominations.on(node.name)
            if each.priority >= pod.priority and each.uid != pod.uid
        ]
        if weighty:
            refusal = self._check_with(cycle, pod, node, weighty)
            if refusal is not None:
                return refusal
        return self._check(cycle, pod, node)

    def simulate(self, cycle: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """`other` comes to (1) or leaves (-1) a node, in a simulation of the caller's: `node` is a copy."""
        if sign > 0:
            node.add(other)
        else:
            node.remove(other.key)
        for plugin in self._profile.simulated:
            if plugin.name not in cycle.skipped:
                plugin.simulate(cycle, pod, other, node, sign)

    def _check(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        for plugin in self._profile.filters:
            if plugin.name not in cycle.skipped:
                refusal = plugin.filter(cycle, pod, node)
                if refusal is not None:
                    return refusal
        return None

    def _check_with(
        self, cycle: CycleState, pod: PodInfo, node: NodeInfo, others: Sequence[PodInfo]
    ) -> Refusal | None:
        cycle, node = cycle.copy(), node.copy()
        for other in others:
            if other.key not in node.pods:
                self.simulate(cycle, pod, other, node, 1)
        return self._check(cycle, pod, node)

    # --- many nodes

    def sign(self, cycle: CycleState, pod: PodInfo) -> Hashable | None:
        """All that filters look at in a pod that they look at one node for; None if some look further."""
        if any(name not in cycle.skipped for name, _ in self._wide_filters):
            return None
        return self._signature(pod)

    def _signature(self, pod: PodInfo) -> Hashable:
        return tuple([plugin.sign(pod) for plugin in self._profile.remembered])

    def _node_results(self, pod: PodInfo, cycle: CycleState) -> NodeResults:
        signature = self._signature(pod)
        results = self._results_by_signature.get(signature)
        if results is None:
            filters = [each for each in self._local_filters if each.name not in cycle.skipped]
            results = self._results_by_signature[signature] = NodeResults(
                filters, self._local_scores, self._start
            )
            self._start += enough_nodes(len(self._nodes))
            if len(self._results_by_signature) > _REMEMBERED:
                self._results_by_signature.popitem(last=False)
        self._results_by_signature.move_to_end(signature)
        return results

    def _after_wide_filters(self, cycle: CycleState, pod: PodInfo, results: NodeResults) -> list[int]:
        """The totals of `results`, but below zero where one of the other filters refuses."""
        filters = [column for name, column in self._wide_filters if name not in cycle.skipped]
        if not filters and not self._nominations:
            return results.totals
        totals = results.totals.copy()
        for refused in filters:
            for _, rows in refused(cycle, pod, totals):
                for row in rows:
                    totals[row] = REFUSED
        for row, _ in self._promised_away(cycle, pod, totals):
            totals[row] = REFUSED
        return totals

    def _promised_away(
        self, cycle: CycleState, pod: PodInfo, totals: list[int]
    ) -> Iterator[tuple[int, Refusal]]:
        """The rows that will not do together with the pods that are promised them."""
        for name, weighty in self._nominations.above(pod):
            node = self._nodes.get(name)
            if node is not None and totals[node.row] >= 0:
                refusal = self._check_with(cycle, pod, node, weighty)
                if refusal is not None:
                    yield node.row, refusal

    def _column_filter(self, plugin: Filter) -> _Filtering:
        """Gives what the plugin refuses of the rows that are not below zero."""
        if isinstance(plugin, ColumnFilter):
            return lambda cycle, pod, totals: plugin.refused_rows(cycle, pod)

        def refused(
            cycle: CycleState, pod: PodInfo, totals: list[int]
        ) -> Iterator[tuple[Refusal, Iterable[int]]]:
            for row in [row for row, total in enumerate(totals) if total >= 0]:
                refusal = plugin.filter(cycle, pod, self._node(row))
                if refusal is not None:
                    yield refusal, (row,)

        return refused

    def _column_score(self, each: Weighted) -> _Scoring:
        """A plugin's weighted scores for rows."""
        plugin, weight = each
        normalize = plugin.normalize if isinstance(plugin, NormalizeScore) else None

        def one_by_one(cycle: CycleState, pod: PodInfo, rows: Sequence[int]) -> Sequence[int]:
            assert isinstance(plugin, Score)
            return [plugin.score(cycle, pod, self._node(row)) for row in rows]

        score_rows = plugin.score_rows if isinstance(plugin, ColumnScore) else one_by_one

        def score(cycle: CycleState, pod: PodInfo, rows: Sequence[int]) -> Sequence[int]:
            scores = score_rows(cycle, pod, rows)
            if normalize is not None:
                scores = normalize(cycle, pod, scores)
            return scores if weight == 1 else [weight * score for score in scores]

        return score

    def _best(
        self, cycle: CycleState, pod: PodInfo, results: NodeResults, totals: list[int], highest: int
    ) -> int:
        """The row with the highest score; the totals may be all there is to it."""
        active = self._active_scores(cycle, pod)
        if not active and not any(results.varied):
            return self._pick(totals, highest)
        rows = [row for row, total in enumerate(totals) if total >= 0]
        if len(rows) == 1:
            return rows[0]
        scores = list(map(totals.__getitem__, rows))
        for column, each, tells in zip(results.raw, results.normalized, results.varied, strict=True):
            if tells and isinstance(each.plugin, NormalizeScore):
                normal = each.plugin.normalize(cycle, pod, [column[row] for row in rows])
                weight = each.weight
                scores = [score + weight * more for score, more in zip(scores, normal, strict=True)]
        for scoring in active:
            scores = list(map(add, scores, scoring(cycle, pod, rows)))
        return rows[self._pick(scores, max(scores))]

    def _active_scores(self, cycle: CycleState, pod: PodInfo) -> list[_Scoring]:
        """Of the plugins that have something to say about the pod."""
        return [score for ask, score in self._wide_scores if ask is None or ask(cycle, pod) is None]

    def _pick(self, scores: list[int], highest: int) -> int:
        """One of the highest: where it is found first from a random place on."""
        try:
            return scores.index(highest, self._rand.randrange(len(scores)))
        except ValueError:
            return scores.index(highest)

    def _no_fit(self, cycle: CycleState, pod: PodInfo, results: NodeResults) -> NoFit:
        """Why each node was refused: by whoever did it first."""
        refusals = {row: refusal for row, refusal in enumerate(results.refusals) if refusal is not None}
        totals = results.totals.copy()
        wide = [column for name, column in self._wide_filters if name not in cycle.skipped]
        for refused in wide if results.feasible else ():
            for refusal, rows in refused(cycle, pod, totals):
                for row in rows:
                    refusals.setdefault(row, refusal)
                    totals[row] = REFUSED
        refusals.update(self._promised_away(cycle, pod, totals))
        found = {self._name(row): each for row, each in sorted(refusals.items()) if each is not EMPTY}
        return NoFit(len(self._nodes), found)

    def _node(self, row: int) -> NodeInfo:
        node = self._nodes.rows[row]
        assert node is not None
        return node

    def _name(self, row: int) -> str:
        return self._node(row).name


def _listed(names: Sequence[str]) -> str:
    """As Go prints a list of strings."""
    return f"[{' '.join(sorted(names))}]"
