"""Counts of pods by node label (topology domain), updated incrementally when nodes change.

Plugins that read more than one node (spreading, inter-pod affinity) count pods by topology domain. A
`PodCounts` keeps what each node contributes and recomputes changed nodes only; `PodCountsCache` keeps the
instances in use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.nodes import NodeTable

__all__ = ["Contribution", "PodCounts", "PodCountsCache"]

#: What one node adds to the sums. A sum of zero says that somebody could have contributed.
Contribution = Mapping[Hashable, int]

_KEPT: Final = 256


class PodCounts:
    """The sums of the nodes' contributions, by their keys."""

    __slots__ = ("_contribution", "_contributions", "_contributors", "_seen", "totals")

    def __init__(self, contribution: Callable[[NodeInfo], Contribution | None]) -> None:
        """`contribution` depends on the node and its pods alone; None is nothing."""
        self.totals: dict[Hashable, int] = {}
        self._contribution = contribution
        self._contributions: dict[int, Contribution] = {}
        self._contributors: dict[Hashable, int] = {}
        self._seen = 0

    def refresh(self, nodes: NodeTable) -> None:
        for row in nodes.changed_since(self._seen):
            node = nodes.rows[row]
            new = None if node is None else self._contribution(node)
            old = self._contributions.pop(row, None)
            if new:
                self._contributions[row] = new
            if old != new:
                self._change(old, new)
        self._seen = nodes.generation

    def _change(self, old: Contribution | None, new: Contribution | None) -> None:
        totals, contributors = self.totals, self._contributors
        for key, amount in (new or {}).items():
            totals[key] = totals.get(key, 0) + amount
            contributors[key] = contributors.get(key, 0) + 1
        for key, amount in (old or {}).items():
            contributors[key] -= 1
            if contributors[key]:
                totals[key] -= amount
            else:
                del totals[key], contributors[key]


class PodCountsCache:
    """The most recently used `PodCounts`, by what they count."""

    __slots__ = ("_counts", "_nodes")

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._counts: OrderedDict[Hashable, PodCounts] = OrderedDict()

    def totals(
        self, key: Hashable, contribution: Callable[[NodeInfo], Contribution | None]
    ) -> dict[Hashable, int]:
        """The sums as of now; not to be changed. `key` says all that `contribution` depends on but nodes."""
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = PodCounts(contribution)
            if len(self._counts) > _KEPT:
                self._counts.popitem(last=False)
        self._counts.move_to_end(key)
        counts.refresh(self._nodes)
        return counts.totals
