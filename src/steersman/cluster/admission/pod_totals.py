"""The total requests and limits of a pod, from its containers.

LimitRanger reads the spec only; ResourceQuota also reads the allocated resources in the status, and the
overhead of the runtime class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steersman.objects.amounts import Amounts, added, largest
from steersman.objects.kinds import Object
from steersman.objects.pods import container_totals, is_pod_level
from steersman.objects.quantities import Quantity

__all__ = ["charged_totals", "spec_totals"]

#: A container → the amounts that count for it.
_Choice = Callable[[Mapping[str, Any]], Mapping[str, str]]


def spec_totals(spec: Mapping[str, Any], part: str) -> Amounts:
    """The pod's requests or limits as it was written."""
    totals = container_totals(spec, lambda container: container["resources"].get(part))
    for name, text in ((spec.get("resources") or {}).get(part) or {}).items():
        if name in ("cpu", "memory"):
            totals[name] = Quantity.parse(text)
    return totals


def charged_totals(pod: Object, part: str) -> Amounts:
    """The pod's requests or limits as quota counts them: the larger of asked for and granted."""
    spec, status = pod["spec"], pod.get("status") or {}
    infeasible = any(
        condition["type"] == "PodResizePending" and condition.get("reason") == "Infeasible"
        for condition in status.get("conditions") or ()
    )
    statuses = {
        each["name"]: each
        for field in ("initContainerStatuses", "containerStatuses")
        for each in status.get(field) or ()
    }
    totals: Amounts = {} if infeasible else container_totals(spec, lambda c: c["resources"].get(part))
    if statuses:
        for choose in _granted(statuses, part, infeasible=infeasible):
            totals = largest(totals, container_totals(spec, choose))
    for name, text in ((spec.get("resources") or {}).get(part) or {}).items():
        if is_pod_level(name):
            totals[name] = Quantity.parse(text)
    for name, text in (spec.get("overhead") or {}).items():
        if part == "requests":
            totals = added(totals, {name: Quantity.parse(text)})
        elif totals.get(name):
            totals[name] += Quantity.parse(text)
    return totals


def _granted(statuses: Mapping[str, Object], part: str, *, infeasible: bool) -> list[_Choice]:
    """What the node reports for a container: in force, and set aside."""

    def asked(container: Mapping[str, Any]) -> Mapping[str, str]:
        return {} if infeasible else container["resources"].get(part) or {}

    def in_force(container: Mapping[str, Any]) -> Mapping[str, str]:
        found = statuses.get(container["name"], {})
        actual: Mapping[str, str] | None = (found.get("resources") or {}).get(part)
        if actual is None and part == "requests":
            actual = found.get("allocatedResources")
        return asked(container) if actual is None else actual

    def allocated_or_requested(container: Mapping[str, Any]) -> Mapping[str, str]:
        found: Mapping[str, str] | None = statuses.get(container["name"], {}).get("allocatedResources")
        return asked(container) if found is None else found

    return [in_force, allocated_or_requested] if part == "requests" else [in_force]
