"""The topology spread constraints of a pod. Pure; shared by bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import orjson

from steersman.objects.selectors import NOTHING, LabelSelector, Requirement

__all__ = ["HOSTNAME", "SYSTEM_DEFAULTS", "ZONE", "TopologySpreadConstraint", "read_constraints"]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
_CACHED: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class TopologySpreadConstraint:
    """A topology spread constraint; it counts the selected pods of the pod's namespace by topology domain."""

    max_skew: int
    topology_key: str
    hard: bool
    selector: LabelSelector
    match_label_keys: tuple[str, ...] = ()
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def of(self, labels: Mapping[str, str]) -> TopologySpreadConstraint:
        """With the labels of the pod itself that the constraint names; the same one for the same values."""
        if not self.match_label_keys or self.selector is NOTHING:
            return self
        return _with_labels(self, tuple((key, labels[key]) for key in self.match_label_keys if key in labels))


@lru_cache(_CACHED)
def _with_labels(
    constraint: TopologySpreadConstraint, labels: tuple[tuple[str, str], ...]
) -> TopologySpreadConstraint:
    own = [Requirement(key, "=", (value,)) for key, value in labels]
    return replace(constraint, selector=LabelSelector([*constraint.selector.requirements, *own]))


#: What pods of services and controllers get that say nothing themselves.
SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(3, HOSTNAME, hard=False, selector=NOTHING),
    TopologySpreadConstraint(5, ZONE, hard=False, selector=NOTHING),
)


@lru_cache(_CACHED)
def read_constraints(data: bytes) -> tuple[TopologySpreadConstraint, ...]:
    """From a pod's `topologySpreadConstraints`; empty bytes: none. Raises SelectorError."""
    return tuple(_constraint(each) for each in (orjson.loads(data) or () if data else ()))


def _constraint(each: Mapping[str, Any]) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        each["maxSkew"],
        each["topologyKey"],
        each["whenUnsatisfiable"] == "DoNotSchedule",
        LabelSelector.from_object(each.get("labelSelector")),
        tuple(each.get("matchLabelKeys") or ()),
        each.get("minDomains") or 1,
        each.get("nodeAffinityPolicy", "Honor") == "Honor",
        each.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )
