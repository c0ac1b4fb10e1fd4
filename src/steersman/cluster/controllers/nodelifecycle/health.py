"""The health of a node: its Ready condition and the time of its last heartbeat. Pure.

A heartbeat is a renewed Lease or a new heartbeat time of the Ready condition. Its time is taken from the
controller's own clock, since clocks of nodes may be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from steersman.objects.conditions import find_condition
from steersman.objects.kinds.types.core_v1 import Node, NodeCondition
from steersman.objects.kinds.views.nodes import NodeHealthView
from steersman.objects.kinds.views.taints import Taint
from steersman.objects.times import parse_time
from steersman.runtime import Cached

__all__ = ["STARTUP_GRACE_S", "NodeHealthData", "NodeState", "ObservationGaps", "Zone", "silent_conditions"]

Zone = tuple[str, str]

#: How long a node that never said anything may take to begin.
STARTUP_GRACE_S: Final = 60.0
#: What kubelets take their leases for. A node that takes one for longer renews it that much less often.
_USUAL_LEASE_S: Final = 40.0

#: What nobody knows of a node that is silent.
_REPORTED: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

_REGION_LABELS: Final = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_ZONE_LABELS: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_EXCLUDED_LABEL: Final = "node.kubernetes.io/exclude-disruption"


class NodeState(NodeHealthView, frozen=True, gc=False):
    """The fields of a Node that the node lifecycle controller reads."""

    @classmethod
    def read(cls, cached: Cached) -> NodeState:
        return _decode(cached.data)

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def taints(self) -> Sequence[Taint]:
        return self.spec.taints

    @property
    def conditions(self) -> list[tuple[str, str]]:
        """Type and status of each."""
        return [(condition.type, condition.status) for condition in self.status.conditions]

    @property
    def ready(self) -> str:
        """True, False or Unknown; empty if it never said."""
        return dict(self.conditions).get("Ready", "")

    @property
    def heartbeat(self) -> str | None:
        """When it last reported, by its own clock."""
        for condition in self.status.conditions:
            if condition.type == "Ready":
                return condition.last_heartbeat_time
        return None

    @property
    def zone(self) -> Zone:
        return _first_label(self.labels, _REGION_LABELS), _first_label(self.labels, _ZONE_LABELS)


_decode = msgspec.json.Decoder(NodeState).decode


def _first_label(labels: dict[str, str], names: Sequence[str]) -> str:
    return next((labels[name] for name in names if name in labels), "")


@dataclass(slots=True, eq=False)
class NodeHealthData:
    """The last observed health of one node."""

    uid: str
    ready: str
    heartbeat: str | None
    zone: Zone
    #: Whether it counts when a zone's state is judged.
    counts: bool
    #: Monotonic time at which it was last heard of.
    heard_at: float
    renewed: str = ""
    #: For how long its lease is good.
    lease_s: float = _USUAL_LEASE_S

    @classmethod
    def first_seen(cls, node: NodeState, now: float, wall: float) -> NodeHealthData:
        """A node that never reported has been silent since it was made."""
        heard_at = now
        created = node.metadata.creation_timestamp
        if not node.ready and created is not None:
            heard_at = now - max(wall - parse_time(created).timestamp(), 0.0)
        counts = _EXCLUDED_LABEL not in node.labels
        return cls(node.metadata.uid, node.ready, node.heartbeat, node.zone, counts, heard_at)

    def see(self, node: NodeState, now: float) -> None:
        """The node's object has changed."""
        if bool(self.ready) != bool(node.ready) or self.heartbeat != node.heartbeat:
            self.heard_at = now
        self.ready, self.heartbeat = node.ready, node.heartbeat
        self.zone, self.counts = node.zone, _EXCLUDED_LABEL not in node.labels

    def marked_unknown(self, node: NodeState) -> None:
        """The node was marked as silent, which is no sign of life."""
        self.ready, self.heartbeat = node.ready, node.heartbeat

    def see_lease(self, renewed: str, now: float, lease_s: float = _USUAL_LEASE_S) -> bool:
        """The node's lease says when it was renewed; whether that is news. Its clock may go backwards."""
        if not renewed or renewed == self.renewed:
            return False
        self.lease_s = lease_s
        self.renewed, self.heard_at = renewed, now
        return True

    def silent(self, now: float, grace_s: float) -> bool:
        """Whether it has not been heard of for too long."""
        return now > self.silent_at(grace_s)

    def silent_at(self, grace_s: float) -> float:
        """After which moment it is silent if nothing is heard of it until then."""
        if not self.ready:
            return self.heard_at + STARTUP_GRACE_S
        return self.heard_at + grace_s * max(self.lease_s / _USUAL_LEASE_S, 1.0)


@dataclass(slots=True)
class ObservationGaps:
    """Whether heartbeats were observed without a gap: none can be received while the machine sleeps or the
    event loop is blocked.
    """

    period_s: float
    _due_at: float | None = None

    def begin(self) -> None:
        """Whatever was missed before does not matter."""
        self._due_at = None

    def missed_s(self, now: float) -> float:
        """How long nobody listened: this should have been called when it was due."""
        late_s = 0.0 if self._due_at is None else now - self._due_at
        self._due_at = None
        return late_s if late_s > self.period_s else 0.0

    def expect(self, due_at: float) -> None:
        """When somebody listens again."""
        self._due_at = due_at


def silent_conditions(node: Node, now: str) -> list[NodeCondition]:
    """The conditions of a node that is silent: nobody knows how it is."""
    conditions = list((node.get("status") or {}).get("conditions") or ())
    for kind in _REPORTED:
        old = find_condition(conditions, kind)
        if old is None:
            conditions.append(
                {
                    "type": kind,
                    "status": "Unknown",
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                    "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
                    "lastTransitionTime": now,
                }
            )
        elif old.get("status") != "Unknown":
            conditions[conditions.index(old)] = {
                **old,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": now,
            }
    return conditions
