"""NodeName: a pod that names its node goes nowhere else."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from steersman.cluster.scheduler.framework.cycle import Cycle
from steersman.cluster.scheduler.framework.events import EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.node import Node
from steersman.cluster.scheduler.model.pod import Pod

__all__ = ["NodeName"]

_OTHER: Final = Refusal("NodeName", ("node(s) didn't match the requested node name",), resolvable=False)


class NodeName:
    name = "NodeName"

    def sign(self, pod: Pod) -> Hashable:
        return pod.node_name

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Refusal | None:
        return _OTHER if pod.node_name and pod.node_name != node.name else None

    @property
    def hints(self) -> Hints:
        return {EventKind.NODE_ADDED: None}
