"""The NodeAffinity plugin: required and preferred node affinity, and nodeSelector."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import SKIP, OnlyNodes, Refusal, Skip
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.plugins.normalizing import by_highest

__all__ = ["NodeAffinity"]

_NAME: Final = "NodeAffinity"
_OTHER: Final = Refusal(_NAME, ("node(s) didn't match Pod's node affinity/selector",), resolvable=False)
_CONFLICT: Final = Refusal(_NAME, ("pod affinity terms conflict",), resolvable=False)


class NodeAffinity:
    name = _NAME

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.node_affinity

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Refusal | OnlyNodes | Skip | None:
        affinity = pod.node_affinity
        if not affinity.demanding:
            return SKIP
        names = None if affinity.required is None else affinity.required.names
        if names is None:
            return None
        return OnlyNodes(names) if names else _CONFLICT

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        return None if pod.node_affinity.allows(node.name, node.facts.labels) else _OTHER

    def score(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """The weights of the wishes that the node grants."""
        wishes = pod.node_affinity.preferred
        if not wishes:
            return 0
        name, labels = node.name, node.facts.labels
        return sum(wish.weight for wish in wishes if wish.matches(name, labels))

    def normalize(self, cycle: CycleState, pod: PodInfo, scores: Sequence[int]) -> Sequence[int]:
        return by_highest(scores)

    @property
    def hints(self) -> Hints:
        return {EventKind.NODE_ADDED: _matches_now, EventKind.NODE_LABELS: _matches_now}


def _matches_now(pod: PodInfo, what: ClusterEvent) -> bool:
    old, new = what.old_node, what.new_node
    if new is None or not pod.node_affinity.allows(new.name, new.labels):
        return False
    return old is None or not pod.node_affinity.allows(old.name, old.labels)
