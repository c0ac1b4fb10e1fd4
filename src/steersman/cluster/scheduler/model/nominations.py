"""Nominated pods: preemptors that wait for victims to leave their nominated node. Pure.

Filters run with the nominated pods of equal or higher priority on the node, so that lower priorities do not
take the freed resources.
"""

from __future__ import annotations

from collections.abc import Iterator

from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.runtime import Key

__all__ = ["Nominations"]


class Nominations:
    """The nominated pods by node."""

    __slots__ = ("_by_node", "_node_of")

    def __init__(self) -> None:
        self._by_node: dict[str, dict[Key, PodInfo]] = {}
        self._node_of: dict[Key, str] = {}

    def __bool__(self) -> bool:
        return bool(self._node_of)

    def put(self, pod: PodInfo, node: str) -> None:
        self.drop(pod.key)
        if node:
            self._by_node.setdefault(node, {})[pod.key] = pod
            self._node_of[pod.key] = node

    def drop(self, key: Key) -> None:
        node = self._node_of.pop(key, None)
        if node is not None:
            pods = self._by_node[node]
            del pods[key]
            if not pods:
                del self._by_node[node]

    def node_of(self, key: Key) -> str:
        return self._node_of.get(key, "")

    def on(self, node: str) -> list[PodInfo]:
        return list(self._by_node.get(node, {}).values())

    def above(self, pod: PodInfo) -> Iterator[tuple[str, list[PodInfo]]]:
        """For each node the promised pods that this pod must leave room for."""
        for node, pods in self._by_node.items():
            weighty = [
                each for each in pods.values() if each.priority >= pod.priority and each.uid != pod.uid
            ]
            if weighty:
                yield node, weighty
