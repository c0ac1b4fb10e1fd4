"""What happens in a cluster that may make room for a pod, and a plugin's opinion whether it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from steersman.cluster.scheduler.model.node import NodeFacts
from steersman.cluster.scheduler.model.pod import Pod

__all__ = ["EventKind", "Hint", "Hints", "Occurrence"]


class EventKind(Enum):
    """Placed pods, nodes and volumes; `TARGET` is the waiting pod itself."""

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
class Occurrence:
    """Something happened: what was (None: nothing) and what is now."""

    kind: EventKind
    old: Pod | NodeFacts | Mapping[str, Any] | None = None
    new: Pod | NodeFacts | Mapping[str, Any] | None = None

    @property
    def old_pod(self) -> Pod | None:
        return self.old if isinstance(self.old, Pod) else None

    @property
    def new_pod(self) -> Pod | None:
        return self.new if isinstance(self.new, Pod) else None

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
Hint = Callable[[Pod, Occurrence], bool]
Hints = Mapping[EventKind, Hint | None]
