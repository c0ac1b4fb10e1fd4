"""The pod-level allocatedResources and resources of a pod's status (in-place resize). Pure."""

from __future__ import annotations

from typing import Final, Literal, cast

from steersman.objects.amounts import Amounts, added, masked, parsed, texts
from steersman.objects.kinds.types.core_v1 import PodSpec, PodStatus, ResourceRequirements
from steersman.objects.pods import container_totals, has_own_resources

__all__ = ["allocated_resources"]


#: What cgroups know of: all that can be said of a pod that runs.
_ENFORCED: Final = ("cpu", "memory")
_SIDES: Final[tuple[Literal["requests", "limits"], ...]] = ("requests", "limits")


def allocated_resources(spec: PodSpec, phase: str | None) -> PodStatus:
    """`resources` and `allocatedResources` of the status of a pod that was in this phase before."""
    requests, limits = (_totals(spec, side) for side in _SIDES)
    told: PodStatus = {"allocatedResources": texts(requests)} if requests else {}
    if phase == "Running":
        own = spec.get("resources") or {}
        requests, limits = (
            parsed(own.get(side)) | masked(amounts, _ENFORCED)
            for side, amounts in zip(_SIDES, (requests, _bounding(spec, limits)), strict=True)
        )
    sides = zip(_SIDES, (requests, limits), strict=True)
    told["resources"] = cast(
        "ResourceRequirements", {side: texts(amounts) for side, amounts in sides if amounts}
    )
    return told


def _totals(spec: PodSpec, side: Literal["requests", "limits"]) -> Amounts:
    totals = container_totals(spec, lambda one: (one.get("resources") or {}).get(side))
    if has_own_resources(spec):
        totals |= parsed((spec.get("resources") or {}).get(side))
    overhead = parsed(spec.get("overhead"))
    return added(totals, overhead if side == "requests" else masked(overhead, totals))


def _bounding(spec: PodSpec, limits: Amounts) -> Amounts:
    """Those that hold for the pod: a container without one is not held by the others'."""
    if has_own_resources(spec):
        return limits
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    given = [(one.get("resources") or {}).get("limits") or {} for one in containers]
    return {name: amount for name, amount in limits.items() if all(name in one for one in given)}
