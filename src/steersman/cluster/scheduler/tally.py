"""Sums over all nodes that cost only as much as what has changed: how many pods of a kind there are where.

Plugins that look beyond one node (spreading, inter-pod affinity) count pods by the nodes' labels. A `Tally`
remembers what each node contributes and looks again at nodes that changed; `Tallies` keeps those in use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from steersman.cluster.scheduler.model.node import Node
from steersman.cluster.scheduler.model.nodes import Nodes

__all__ = ["Contribution", "Tallies", "Tally"]

#: What one node adds to the sums. A sum of zero says that somebody could have contributed.
Contribution = Mapping[Hashable, int]

_KEPT: Final = 256


class Tally:
    """Sums by whatever the contributions are by."""

    __slots__ = ("_contribution", "_contributions", "_contributors", "_seen", "totals")

    def __init__(self, contribution: Callable[[Node], Contribution | None]) -> None:
        """`contribution` depends on the node and its pods alone; None is nothing."""
        self.totals: dict[Hashable, int] = {}
        self._contribution = contribution
        self._contributions: dict[int, Contribution] = {}
        self._contributors: dict[Hashable, int] = {}
        self._seen = 0

    def refresh(self, nodes: Nodes) -> None:
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


class Tallies:
    """The tallies used last, by what they count."""

    __slots__ = ("_nodes", "_tallies")

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._tallies: OrderedDict[Hashable, Tally] = OrderedDict()

    def totals(
        self, key: Hashable, contribution: Callable[[Node], Contribution | None]
    ) -> dict[Hashable, int]:
        """The sums as of now; not to be changed. `key` says all that `contribution` depends on but nodes."""
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally(contribution)
            if len(self._tallies) > _KEPT:
                self._tallies.popitem(last=False)
        self._tallies.move_to_end(key)
        tally.refresh(self._nodes)
        return tally.totals
