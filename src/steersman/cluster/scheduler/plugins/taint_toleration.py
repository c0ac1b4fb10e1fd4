"""The TaintToleration plugin: rejects nodes with untolerated NoSchedule and NoExecute taints, scores
PreferNoSchedule taints.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from steersman.cluster.scheduler.framework.cycle_state import CycleState
from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.node import NodeInfo
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.model.tolerations import untolerated
from steersman.cluster.scheduler.plugins.normalizing import by_highest

__all__ = ["TaintToleration"]

_TAINTED: Final = Refusal("TaintToleration", ("node(s) had untolerated taint(s)",), resolvable=False)
_PREFERENCE: Final = "PreferNoSchedule"


class TaintToleration:
    name = "TaintToleration"

    def sign(self, pod: PodInfo) -> Hashable:
        return pod.tolerations

    def filter(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> Refusal | None:
        taints = node.facts.taints
        return _TAINTED if taints and untolerated(taints, pod.tolerations) is not None else None

    def score(self, cycle: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """How many taints would rather not have the pod."""
        if not node.facts.taints:
            return 0
        tolerations = [each for each in pod.tolerations if each.effect in ("", _PREFERENCE)]
        return sum(
            taint.effect == _PREFERENCE and not any(each.tolerates(taint) for each in tolerations)
            for taint in node.facts.taints
        )

    def normalize(self, cycle: CycleState, pod: PodInfo, scores: Sequence[int]) -> Sequence[int]:
        return by_highest(scores, reverse=True)

    @property
    def hints(self) -> Hints:
        return {
            EventKind.NODE_ADDED: _is_tolerated_now,
            EventKind.NODE_TAINTS: _is_tolerated_now,
            EventKind.TARGET_TOLERATIONS: None,
        }


def _is_tolerated_now(pod: PodInfo, what: ClusterEvent) -> bool:
    old, new = what.old_node, what.new_node
    if new is None or untolerated(new.taints, pod.tolerations) is not None:
        return False
    return old is None or untolerated(old.taints, pod.tolerations) is not None
