"""What a pod needs as a whole, from what its containers ask for.

Containers run side by side and add up; init containers run one after the other beside the sidecars started
before them, so the largest moment counts. LimitRanger looks at the spec alone; quota also at what the node
has granted and at the overhead of the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from steersman.cluster.admission.chain import Object
from steersman.objects.quantities import Quantity

__all__ = ["Amounts", "charged_totals", "has_own_resources", "spec_totals"]

Amounts = dict[str, Quantity]
#: A container → the amounts that count for it.
_Choice = Callable[[Object], Mapping[str, str]]

_HUGE_PAGES: Final = "hugepages-"


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def has_own_resources(spec: Object) -> bool:
    """Whether the pod asks for resources as a whole, so that its containers need not."""
    resources = spec.get("resources") or {}
    return any(_is_pod_level(name) for part in ("requests", "limits") for name in resources.get(part) or ())


def spec_totals(spec: Object, part: str) -> Amounts:
    """The pod's requests or limits as it was written."""
    totals = _sum(spec, lambda container: container["resources"].get(part) or {})
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
    totals: Amounts = {} if infeasible else _sum(spec, lambda c: c["resources"].get(part) or {})
    if statuses:
        for choose in _granted(statuses, part, infeasible=infeasible):
            _raise(totals, _sum(spec, choose))
    for name, text in ((spec.get("resources") or {}).get(part) or {}).items():
        if _is_pod_level(name):
            totals[name] = Quantity.parse(text)
    for name, text in (spec.get("overhead") or {}).items():
        if part == "requests":
            _add(totals, {name: Quantity.parse(text)})
        elif totals.get(name):
            totals[name] += Quantity.parse(text)
    return totals


def _granted(statuses: Mapping[str, Object], part: str, *, infeasible: bool) -> list[_Choice]:
    """What the node reports for a container: in force, and set aside."""

    def asked(container: Object) -> Mapping[str, str]:
        return {} if infeasible else container["resources"].get(part) or {}

    def in_force(container: Object) -> Mapping[str, str]:
        found = statuses.get(container["name"], {})
        actual: Mapping[str, str] | None = (found.get("resources") or {}).get(part)
        if actual is None and part == "requests":
            actual = found.get("allocatedResources")
        return asked(container) if actual is None else actual

    def set_aside(container: Object) -> Mapping[str, str]:
        found: Mapping[str, str] | None = statuses.get(container["name"], {}).get("allocatedResources")
        return asked(container) if found is None else found

    return [in_force, set_aside] if part == "requests" else [in_force]


def _sum(spec: Object, choose: _Choice) -> Amounts:
    totals: Amounts = {}
    for container in spec.get("containers") or ():
        _add(totals, _parsed(choose(container)))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = _parsed(choose(container))
        if container.get("restartPolicy") == "Always":
            _add(totals, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise(peak, amounts)
    _raise(totals, peak)
    return totals


def _parsed(amounts: Mapping[str, str]) -> Amounts:
    return {name: Quantity.parse(text) for name, text in amounts.items()}


def _add(totals: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        totals[name] = totals[name] + amount if name in totals else amount


def _raise(totals: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in totals or amount > totals[name]:
            totals[name] = amount
