"""NodeUnschedulable: a cordoned node takes only pods that tolerate that."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from steersman.cluster.scheduler.framework.cycle import Cycle
from steersman.cluster.scheduler.framework.events import EventKind, Hints, Occurrence
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.node import Node
from steersman.cluster.scheduler.model.pod import Pod
from steersman.cluster.scheduler.model.tolerations import Taint

__all__ = ["NodeUnschedulable"]

_CORDONED: Final = Refusal("NodeUnschedulable", ("node(s) were unschedulable",), resolvable=False)
_TAINT: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class NodeUnschedulable:
    name = "NodeUnschedulable"

    def sign(self, pod: Pod) -> Hashable:
        return pod.tolerations

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Refusal | None:
        return _CORDONED if node.facts.unschedulable and not _tolerates(pod) else None

    @property
    def hints(self) -> Hints:
        return {
            EventKind.NODE_ADDED: _is_open,
            EventKind.NODE_TAINTS: _is_open,
            EventKind.TARGET_TOLERATIONS: lambda pod, _: _tolerates(pod),
        }


def _tolerates(pod: Pod) -> bool:
    return any(toleration.tolerates(_TAINT) for toleration in pod.tolerations)


def _is_open(pod: Pod, what: Occurrence) -> bool:
    old, new = what.old_node, what.new_node
    was_closed = old is None or old.unschedulable
    return new is not None and was_closed and not new.unschedulable
