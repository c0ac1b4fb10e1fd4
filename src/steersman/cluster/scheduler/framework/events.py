"""Cluster events that may make an unschedulable pod schedulable, and queueing hints of plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from steersman.cluster.scheduler.model.node import NodeFacts
from steersman.cluster.scheduler.model.pod import PodInfo

__all__ = ["ClusterEvent", "EventKind", "Hint", "Hints"]


class EventKind(Enum):
    """The resource and action of a cluster event: placed pods, nodes and volumes; `TARGET` is the pending pod
    itself.
    """

    POD_ADDED = auto()
    POD_DELETED = auto()
    POD_LABELS = auto()
    POD_SHRUNK = auto()
    TARGET_LABELS = auto()
    TARGET_TOLERATIONS = auto()
    TARGET_SHRUNK = auto()
    TARGET_GATES = auto()
    NODE_ADDED = auto()
    NODE_DELETED = auto()
    NODE_ALLOCATABLE = auto()
    NODE_LABELS = auto()
    NODE_TAINTS = auto()
    CLAIM = auto()
    VOLUME = auto()
    STORAGE_CLASS = auto()
    CSI_NODE = auto()
    CSI_DRIVER = auto()
    CSI_CAPACITY = auto()
    ATTACHMENT_DELETED = auto()


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A cluster event: the old state of the object (None: new) and the new one."""

    kind: EventKind
    old: PodInfo | NodeFacts | Mapping[str, Any] | None = None
    new: PodInfo | NodeFacts | Mapping[str, Any] | None = None

    @property
    def old_pod(self) -> PodInfo | None:
        return self.old if isinstance(self.old, PodInfo) else None

    @property
    def new_pod(self) -> PodInfo | None:
        return self.new if isinstance(self.new, PodInfo) else None

    @property
    def old_node(self) -> NodeFacts | None:
        return self.old if isinstance(self.old, NodeFacts) else None

    @property
    def new_node(self) -> NodeFacts | None:
        return self.new if isinstance(self.new, NodeFacts) else None

    @property
    def object(self) -> Mapping[str, Any]:
        """The object, if it is neither a pod nor a node; as it is now."""
        return self.new if isinstance(self.new, Mapping) else {}


#: Whether a pod that the plugin refused should be tried again.
Hint = Callable[[PodInfo, ClusterEvent], bool]
Hints = Mapping[EventKind, Hint | None]
