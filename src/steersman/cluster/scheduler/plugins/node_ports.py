"""The NodePorts plugin: rejects nodes where a requested host port is taken."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.node import NodeInfo, clash
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["NodePorts"]

_TAKEN: Final = Refusal("NodePorts", ("node(s) didn't have free ports for the requested pod ports",))


class NodePorts:
    name = "NodePorts"

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.ports

    def pre_filter(self, cycle: CycleState, pod: PodInfo) -> Skip | None:
        return None if pod.ports else SKIP

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        return _TAKEN if any(clash(port, held) for port in pod.ports for held in node.ports) else None

    @property
    def hints(self) -> Hints:
        return {EventKind.POD_DELETED: _ports_are_free, EventKind.NODE_ADDED: None}


def _ports_are_free(pod: PodInfo, what: ClusterEvent) -> bool:
    gone = what.old_pod
    return gone is not None and any(clash(port, held) for port in pod.ports for held in gone.ports)
