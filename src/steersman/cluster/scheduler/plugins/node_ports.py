"""NodePorts: two pods of a node do not hold the same port of it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from steersman.cluster.scheduler.framework.cycle import Cycle
from steersman.cluster.scheduler.framework.events import EventKind, Hints, Occurrence
from steersman.cluster.scheduler.framework.verdicts import SKIP, Refusal, Skip
from steersman.cluster.scheduler.model.node import Node, clash
from steersman.cluster.scheduler.model.pod import Pod

__all__ = ["NodePorts"]

_TAKEN: Final = Refusal("NodePorts", ("node(s) didn't have free ports for the requested pod ports",))


class NodePorts:
    name = "NodePorts"

    def sign(self, pod: Pod) -> Hashable:
        return pod.ports

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Skip | None:
        return None if pod.ports else SKIP

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Refusal | None:
        return _TAKEN if any(clash(port, held) for port in pod.ports for held in node.ports) else None

    @property
    def hints(self) -> Hints:
        return {EventKind.POD_DELETED: _ports_are_free, EventKind.NODE_ADDED: None}


def _ports_are_free(pod: Pod, what: Occurrence) -> bool:
    gone = what.old_pod
    return gone is not None and any(clash(port, held) for port in pod.ports for held in gone.ports)
