"""The NodeName plugin: a pod with `spec.nodeName` fits only that node."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["NodeName"]

_OTHER: Final = Refusal("NodeName", ("node(s) didn't match the requested node name",), resolvable=False)


class NodeName:
    name = "NodeName"

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.node_name

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        return _OTHER if pod.node_name and pod.node_name != node.name else None

    @property
    def hints(self) -> Hints:
        return {EventKind.NODE_ADDED: None}
