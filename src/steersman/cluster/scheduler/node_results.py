"""Filter results and scores of every node, remembered for pods with the same signature.

Pods of one template differ in nothing that plugins with a signature read. After a pod was assigned, one node
has changed: filtering and scoring that one again is enough to know the best of thousands.

New `NodeResults` are empty. Rows are filled as they are needed: some with every pod, each instance beginning
at another row, until all are known. All of them are before a pod is reported unschedulable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.plugin import Filter, NormalizeScore, Score
from steersman.cluster.scheduler.framework.profile import Weighted
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.nodes import NodeTable
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["EMPTY", "REFUSED", "UNKNOWN", "NodeResults", "enough_nodes"]

#: There is no node in the row; or it was not looked at yet.
EMPTY: Final = Refusal("", ())
UNKNOWN: Final = Refusal("", ())
#: The total of a row that will not do.
REFUSED: Final = -1

_ALL_BELOW: Final = 100
_PERCENT: Final = 50
_LEAST_PERCENT: Final = 5


def enough_nodes(count: int) -> int:
    """How many nodes that will do are a good choice among so many, as kube-scheduler has it."""
    if count < _ALL_BELOW:
        return count
    percent = max(_PERCENT - count // 125, _LEAST_PERCENT)
    return max(count * percent // 100, _ALL_BELOW)


class NodeResults:
    """Filter results and scores by row."""

    __slots__ = (
        "_filters",
        "_raw_scores",
        "_scores",
        "_seen",
        "_unknown",
        "feasible",
        "normalized",
        "raw",
        "refusals",
        "totals",
        "varied",
    )

    def __init__(self, filters: Sequence[Filter], scores: Sequence[Weighted], start: int) -> None:
        """`start` is the row to begin with."""
        self._filters = [plugin.filter for plugin in filters]
        self._scores = [
            (each.plugin.score, each.weight)
            for each in scores
            if isinstance(each.plugin, Score) and not isinstance(each.plugin, NormalizeScore)
        ]
        #: The scores that depend on those of other nodes in the end, and what each row has before that.
        self.normalized = [each for each in scores if isinstance(each.plugin, NormalizeScore)]
        self._raw_scores = [each.plugin.score for each in self.normalized if isinstance(each.plugin, Score)]
        self.raw: list[list[int]] = [[] for _ in self.normalized]
        self.refusals: list[Refusal | None] = []
        #: The sum of the other scores; below zero where the node was refused.
        self.totals: list[int] = []
        #: How many rows will do, and in how many each of the normalized scores says something.
        self.feasible = 0
        self.varied = [0] * len(self.normalized)
        self._unknown: deque[int] = deque((start,))
        self._seen = 0

    @property
    def complete(self) -> bool:
        return not self._unknown

    def refresh(self, cycle: CycleState, pod: PodInfo, nodes: NodeTable, enough: int) -> None:
        """Bring the known rows up to date, and get to know more until `enough` of those will do."""
        self._grow(len(nodes.rows))
        refusals = self.refusals
        for row in nodes.changed_since(self._seen):
            if refusals[row] is not UNKNOWN:
                self._ask(cycle, pod, nodes, row)
        self._seen = nodes.generation
        while self._unknown and enough > 0:
            row = self._unknown.popleft()
            self._ask(cycle, pod, nodes, row)
            if refusals[row] is None:
                enough -= 1

    def _grow(self, size: int) -> None:
        known = len(self.refusals)
        if size == known:
            return
        if known == 0:
            start = self._unknown.pop() % size
            self._unknown.extend(range(start, size))
            self._unknown.extend(range(start))
        else:
            self._unknown.extend(range(known, size))
        more = size - known
        self.refusals.extend([UNKNOWN] * more)
        self.totals.extend([REFUSED] * more)
        for column in self.raw:
            column.extend([0] * more)

    def _ask(self, cycle: CycleState, pod: PodInfo, nodes: NodeTable, row: int) -> None:
        node = nodes.rows[row]
        refusal: Refusal | None = EMPTY
        if node is not None:
            for check in self._filters:
                refusal = check(cycle, pod, node)
                if refusal is not None:
                    break
            else:
                refusal = None
        self.feasible += (refusal is None) - (self.refusals[row] is None)
        self.refusals[row] = refusal
        total = REFUSED
        if refusal is None and node is not None:
            total = 0
            for score, weight in self._scores:
                total += weight * score(cycle, pod, node)
        self.totals[row] = total
        for number, score in enumerate(self._raw_scores):
            column = self.raw[number]
            value = score(cycle, pod, node) if refusal is None and node is not None else 0
            self.varied[number] += (value != 0) - (column[row] != 0)
            column[row] = value
