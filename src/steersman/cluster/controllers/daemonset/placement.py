"""The nodes eligible for a DaemonSet's pods: those that its template selects and whose taints its pods
tolerate. Pure.

The scheduler binds the pods; the controller repeats its node checks to know how many pods there should be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_READY,
    UNREACHABLE,
    UNSCHEDULABLE,
    Taint,
    Toleration,
)
from steersman.objects.kinds.enums import TaintEffect
from steersman.objects.kinds.types import core_v1
from steersman.objects.kinds.types.apps_v1 import DaemonSet
from steersman.objects.kinds.types.core_v1 import Affinity, NodeAffinity, NodeSelectorRequirement, PodSpec
from steersman.objects.kinds.views.nodes import NodePlacementView
from steersman.objects.node_selection import node_affinity_of
from steersman.runtime import Cached

__all__ = ["DaemonNodeState", "DaemonPlacement", "pinned", "target_node", "tolerations"]


#: Problems of a node that its daemons live through: key and effect.
_TOLERATED: Final[tuple[tuple[str, TaintEffect], ...]] = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE, NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK: Final[tuple[tuple[str, TaintEffect], ...]] = (
    ("node.kubernetes.io/network-unavailable", NO_SCHEDULE),
)
_NAME_FIELD: Final = "metadata.name"


class DaemonNodeState(NodePlacementView, frozen=True, gc=False):
    """The fields of a Node that decide whether a daemon pod runs on it."""

    @classmethod
    def read(cls, cached: Cached) -> DaemonNodeState:
        return _decode(cached.data)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def taints(self) -> Sequence[Taint]:
        return self.spec.taints


_decode = msgspec.json.Decoder(DaemonNodeState).decode


class NodeEligibility(NamedTuple):
    """Whether a daemon pod should be created on a node, and whether an existing one may stay."""

    run: bool
    stay: bool


class DaemonPlacement:
    """The node name, node selector, affinity and tolerations of one DaemonSet, parsed once and checked
    against every node.
    """

    def __init__(self, daemon_set: DaemonSet) -> None:
        spec = daemon_set["spec"]["template"]["spec"]
        self._node_name = spec.get("nodeName") or ""
        self._affinity = node_affinity_of(spec)
        self._tolerations = msgspec.convert(tolerations(spec), list[Toleration])

    def judge(self, node: DaemonNodeState) -> NodeEligibility:
        wanted = self._node_name in ("", node.name) and self._affinity.allows(node.name, node.labels)
        if not wanted:
            return NodeEligibility(False, False)
        effects = {taint.effect for taint in node.taints if not self._tolerates(taint)}
        if NO_EXECUTE in effects:
            return NodeEligibility(False, False)
        return NodeEligibility(NO_SCHEDULE not in effects, True)

    def _tolerates(self, taint: Taint) -> bool:
        return any(toleration.tolerates(taint) for toleration in self._tolerations)


def tolerations(spec: PodSpec) -> list[core_v1.Toleration]:
    """What a daemon's pod tolerates: what its template says, and a node's usual problems."""
    result = list(spec.get("tolerations") or ())
    added = _TOLERATED + (_TOLERATED_ON_HOST_NETWORK if spec.get("hostNetwork") else ())
    for key, effect in added:
        toleration: core_v1.Toleration = {"key": key, "operator": "Exists", "effect": effect}
        alike = [number for number, one in enumerate(result) if _alike(one, toleration)]
        if not alike:
            result.append(toleration)
        for number in alike:
            result[number] = toleration  # without the time limit the template may have given
    return result


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(
        (one.get(field) or "") == (other.get(field) or "") for field in ("key", "effect", "operator", "value")
    )


def pinned(affinity: Affinity | None, node: str) -> Affinity:
    """A pod's affinity with the one node it is for."""
    affinity = affinity or {}
    here: NodeSelectorRequirement = {"key": _NAME_FIELD, "operator": "In", "values": [node]}
    given: NodeAffinity = affinity.get("nodeAffinity") or {}
    node_affinity: NodeAffinity = {
        **given,
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [here]}]},
    }
    return {**affinity, "nodeAffinity": node_affinity}


def target_node(pod: PodState) -> str | None:
    """The node a pod is on or for; None if nobody can tell."""
    if pod.node:
        return pod.node
    affinity = pod.affinity.get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            values: Sequence[str] = field.get("values") or ()
            if field.get("key") == _NAME_FIELD and field.get("operator") == "In":
                return values[0] if len(values) == 1 else None
    return None
