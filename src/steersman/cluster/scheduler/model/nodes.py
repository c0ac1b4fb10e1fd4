"""The table of all nodes and their pods, one row per node, with a log of changed rows.

It is fed from informer caches and from the scheduler's own decisions (`place`, before the API shows them).
Columns over the rows (a label's values, remembered filter results) stay valid except for changed rows.

A row belongs to a node as long as it exists; then it is empty until another node gets it. Pods of unknown
nodes are kept until the node appears.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from steersman.cluster.scheduler.model.label_column import LabelColumn
from steersman.cluster.scheduler.model.node import NodeFacts, NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.runtime import Key

__all__ = ["NodeTable"]


class NodeTable:
    """The nodes of a cluster."""

    def __init__(self) -> None:
        self.rows: list[NodeInfo | None] = []
        #: How many nodes have an image, by its name.
        self.images: dict[str, int] = {}
        #: Grows when a node has other images than before, or comes or goes.
        self.images_changed = 0
        #: How many placed pods have affinity of any kind, and required anti-affinity.
        self.affine_pods = 0
        self.repelling_pods = 0
        self.generation = 0
        self._by_name: dict[str, NodeInfo] = {}
        self._free: list[int] = []
        #: Rows in the order of their last change, and when that was.
        self._recent: OrderedDict[int, int] = OrderedDict()
        self._columns: dict[str, LabelColumn] = {}
        #: Where each placed pod is; the pods of unknown nodes by the node's name.
        self._places: dict[Key, str] = {}
        self._waiting: dict[str, dict[Key, PodInfo]] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[NodeInfo]:
        return iter(self._by_name.values())

    def get(self, name: str) -> NodeInfo | None:
        return self._by_name.get(name)

    # --- changes

    def put(self, facts: NodeFacts) -> NodeInfo:
        """A node is new or says something else."""
        node = self._by_name.get(facts.name)
        if node is None:
            row = self._free.pop() if self._free else len(self.rows)
            node = NodeInfo(facts, row)
            if row == len(self.rows):
                self.rows.append(node)
            else:
                self.rows[row] = node
            self._by_name[facts.name] = node
            for pod in self._waiting.pop(facts.name, {}).values():
                self._add(node, pod)
            self._count_images(facts, 1)
        else:
            if facts.images != node.facts.images:
                self._count_images(node.facts, -1)
                self._count_images(facts, 1)
            node.facts = facts
        for key, column in self._columns.items():
            column.put(node.row, facts.labels.get(key))
        self._touch(node.row)
        return node

    def remove(self, name: str) -> None:
        """A node is gone; its pods may still be there."""
        node = self._by_name.pop(name, None)
        if node is None:
            return
        if node.pods:
            self._waiting[name] = dict(node.pods)
            for pod in node.pods.values():
                self._count_affinity(pod, -1)
        self._count_images(node.facts, -1)
        self.rows[node.row] = None
        self._free.append(node.row)
        for column in self._columns.values():
            column.remove(node.row)
        self._touch(node.row)

    def place(self, pod: PodInfo, name: str) -> None:
        """A pod is on a node, or is another than it was."""
        self.displace(pod.key)
        self._places[pod.key] = name
        node = self._by_name.get(name)
        if node is None:
            self._waiting.setdefault(name, {})[pod.key] = pod
            return
        self._add(node, pod)
        self._touch(node.row)

    def exchange(self, pod: PodInfo) -> None:
        """A placed pod is another object, but takes the same: nobody need look at its node again."""
        node = self._by_name.get(self._places[pod.key])
        if node is None:
            self._waiting[self._places[pod.key]][pod.key] = pod
        else:
            node.exchange(pod)

    def displace(self, key: Key) -> None:
        """A pod is not on its node any more."""
        name = self._places.pop(key, None)
        if name is None:
            return
        node = self._by_name.get(name)
        if node is None:
            waiting = self._waiting[name]
            del waiting[key]
            if not waiting:
                del self._waiting[name]
            return
        self._count_affinity(node.pods[key], -1)
        node.remove(key)
        self._touch(node.row)

    def place_of(self, key: Key) -> str | None:
        """The name of the node that a pod is on."""
        return self._places.get(key)

    def placed(self, key: Key) -> PodInfo | None:
        name = self._places.get(key)
        if name is None:
            return None
        node = self._by_name.get(name)
        return self._waiting[name][key] if node is None else node.pods[key]

    # --- looking

    def changed_since(self, generation: int) -> Iterator[int]:
        """The rows that changed after `generation`, the last first."""
        for row, changed in reversed(self._recent.items()):
            if changed <= generation:
                return
            yield row

    def label(self, key: str) -> LabelColumn:
        """A label over all rows, as it is from now on."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn()
            for node in self:
                column.put(node.row, node.facts.labels.get(key))
        return column

    def _touch(self, row: int) -> None:
        self.generation += 1
        self._recent[row] = self.generation
        self._recent.move_to_end(row)

    def _add(self, node: NodeInfo, pod: PodInfo) -> None:
        node.add(pod)
        self._count_affinity(pod, 1)

    def _count_affinity(self, pod: PodInfo, sign: int) -> None:
        if pod.affinity:
            self.affine_pods += sign
            if pod.affinity.required_anti:
                self.repelling_pods += sign

    def _count_images(self, facts: NodeFacts, sign: int) -> None:
        self.images_changed += 1
        for name in facts.images:
            count = self.images.get(name, 0) + sign
            if count:
                self.images[name] = count
            else:
                self.images.pop(name, None)
