"""The NodeUnschedulable plugin: a cordoned node (`spec.unschedulable`) takes only pods that tolerate it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.model.tolerations import Taint

__all__ = ["NodeUnschedulable"]

_CORDONED: Final = Refusal("NodeUnschedulable", ("node(s) were unschedulable",), resolvable=False)
_TAINT: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class NodeUnschedulable:
    name = "NodeUnschedulable"

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.tolerations

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        return _CORDONED if node.facts.unschedulable and not _tolerates(pod) else None

    @property
    def hints(self) -> Hints:
        return {
            EventKind.NODE_ADDED: _is_open,
            EventKind.NODE_TAINTS: _is_open,
            EventKind.TARGET_TOLERATIONS: lambda pod, _: _tolerates(pod),
        }


def _tolerates(pod: PodInfo) -> bool:
    return any(toleration.tolerates(_TAINT) for toleration in pod.tolerations)


def _is_open(pod: PodInfo, what: ClusterEvent) -> bool:
    old, new = what.old_node, what.new_node
    was_closed = old is None or old.unschedulable
    return new is not None and was_closed and not new.unschedulable
