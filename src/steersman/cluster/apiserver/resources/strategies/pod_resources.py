"""What a pod's own resources default to: from those of its containers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.objects.kinds import Object
from steersman.objects.pods import container_totals, is_pod_level
from steersman.objects.quantities import Quantity

__all__ = ["default_pod_level_resources"]

_HUGE_PAGES: Final = "hugepages-"


def _containers(spec: Object) -> Iterable[Object]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def default_pod_level_resources(spec: Object) -> None:
    """Complete requests and limits a pod gives for itself from those of its containers."""
    resources = spec.get("resources") or {}
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    if not requests and not limits:
        return
    summed_limits = container_totals(spec, lambda container: container["resources"].get("limits"))
    for name, amount in summed_limits.items():
        if name.startswith(_HUGE_PAGES) and name not in requests:
            limits.setdefault(name, str(amount))
    summed = container_totals(spec, lambda container: container["resources"].get("requests"))
    for name, amount in summed.items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, str(amount))
    for name, text in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, text)
    everywhere = _limited_in_every_container(spec)
    for name, text in requests.items():
        if is_pod_level(name) and name not in limits and name in everywhere:
            # A limit below the request would make the pod invalid, so the request raises it.
            limits[name] = str(max(summed_limits[name], Quantity.parse(text)))
    spec["resources"] |= {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def _limited_in_every_container(spec: Object) -> set[str]:
    containers = [*_containers(spec), *(spec.get("ephemeralContainers") or ())]
    limits = [set(container["resources"].get("limits") or ()) for container in containers]
    return set.intersection(*limits) if limits else set()
