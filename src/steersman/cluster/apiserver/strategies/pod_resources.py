"""Arithmetic on a pod's resources: its quality of service, and what pod-level resources default to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from steersman.cluster.apiserver.strategies.strategy import Object
from steersman.objects.quantities import Quantity

__all__ = ["compute_qos", "default_pod_level_resources"]

_HUGE_PAGES: Final = "hugepages-"
_ZERO: Final = Quantity(0)
Amounts = dict[str, Quantity]


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def _containers(spec: Object) -> Iterable[Object]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def compute_qos(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort, from the pod's own resources or else all of its containers'."""
    resources = spec.get("resources") or {}
    named = {*(resources.get("requests") or ()), *(resources.get("limits") or ())}
    if any(_is_pod_level(name) for name in named):
        return _qos(resources)
    classes = {_qos(container["resources"]) for container in _containers(spec)}
    if len(classes) > 1:
        return "Burstable"
    return classes.pop() if classes else "BestEffort"


def _qos(resources: Object) -> str:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if not requests and not limits:
        return "BestEffort"
    amounts = [(_amount(requests, name), _amount(limits, name)) for name in ("cpu", "memory")]
    if any(request != limit for request, limit in amounts):
        return "Burstable"
    given = {bool(request) for request, _ in amounts}
    if len(given) > 1:
        return "Burstable"
    return "Guaranteed" if given.pop() else "BestEffort"


def _amount(resources: Object, name: str) -> Quantity:
    return Quantity.parse(resources[name]) if name in resources else _ZERO


def default_pod_level_resources(spec: Object) -> None:
    """Complete requests and limits a pod gives for itself from those of its containers."""
    resources = spec.get("resources") or {}
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    if not requests and not limits:
        return
    summed_limits = _sum(spec, lambda container: container["resources"].get("limits") or {})
    for name, amount in summed_limits.items():
        if name.startswith(_HUGE_PAGES) and name not in requests:
            limits.setdefault(name, str(amount))
    summed = _sum(spec, lambda container: container["resources"].get("requests") or {})
    for name, amount in summed.items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, str(amount))
    for name, text in limits.items():
        if _is_pod_level(name):
            requests.setdefault(name, text)
    everywhere = _limited_in_every_container(spec)
    for name, text in requests.items():
        if _is_pod_level(name) and name not in limits and name in everywhere:
            # A limit below the request would make the pod invalid, so the request raises it.
            limits[name] = str(max(summed_limits[name], Quantity.parse(text)))
    spec["resources"] |= {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def _limited_in_every_container(spec: Object) -> set[str]:
    containers = [*_containers(spec), *(spec.get("ephemeralContainers") or ())]
    limits = [set(container["resources"].get("limits") or ()) for container in containers]
    return set.intersection(*limits) if limits else set()


def _sum(spec: Object, resources_of: Callable[[Object], Object]) -> Amounts:
    """What the containers need at once: all that run together, or the hungriest moment of initialisation."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _parsed(resources_of(container)))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        needed = _parsed(resources_of(container))
        if container.get("restartPolicy") == "Always":
            _add(total, needed)
            _add(sidecars, needed)
            needed = sidecars
        else:
            _add(needed, sidecars)
        _raise_to(peak, needed)
    _raise_to(total, peak)
    return total


def _parsed(resources: Object) -> Amounts:
    return {name: Quantity.parse(text) for name, text in resources.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount
