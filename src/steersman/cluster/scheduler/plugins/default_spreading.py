"""The default topology spread constraints: for pods without constraints, the selectors of their Services and
controller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from steersman.cluster.scheduler.framework.plugin import Resources
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.cluster.scheduler.model.spreading import SYSTEM_DEFAULTS, TopologySpreadConstraint
from steersman.objects.errors import SelectorError
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import REPLICA_SETS, REPLICATION_CONTROLLERS, SERVICES, STATEFUL_SETS
from steersman.objects.selectors import LabelSelector
from steersman.runtime import Cache, Cached, Change, Key

__all__ = ["CONTROLLERS", "DefaultSpreading"]

#: Kinds of controllers whose pods are spread, by apiVersion and kind.
CONTROLLERS: Final = {
    (resource.api_version, resource.kind): resource
    for resource in (REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)
}


@lru_cache(1024)
def _constraints(selector: str) -> Sequence[TopologySpreadConstraint]:
    """The same constraints for the same selector, so that what is counted for them is found again."""
    parsed = LabelSelector.parse(selector)
    return tuple(replace(each, selector=parsed) for each in SYSTEM_DEFAULTS)


class DefaultSpreading:
    """Finds the selectors of a pod's Services (by an informer) and of its controller (in the caches)."""

    def __init__(self, cache: Callable[[ResourceType], Cache]) -> None:
        self._cache = cache
        self._services: dict[str, dict[Key, LabelSelector]] = {}
        self.resources: Resources = {SERVICES: self._on_service, **dict.fromkeys(CONTROLLERS.values())}

    def _on_service(self, change: Change) -> None:
        namespace = self._services.setdefault(change.key.namespace, {})
        selector = None if change.new is None else change.new.object().get("spec", {}).get("selector")
        if selector:
            namespace[change.key] = LabelSelector.from_labels(selector)
        elif namespace.pop(change.key, None) is not None and not namespace:
            del self._services[change.key.namespace]

    def constraints(self, pod: PodInfo) -> Sequence[TopologySpreadConstraint]:
        """None for pods that nobody selects."""
        selectors = [
            selector
            for selector in self._services.get(pod.namespace, {}).values()
            if selector.matches(pod.labels)
        ]
        owner = pod.owner
        resource = None if owner is None else CONTROLLERS.get((owner.api_version, owner.kind))
        if owner is not None and resource is not None:
            controller = self._cache(resource).get((pod.namespace, owner.name))
            if controller is not None:
                selectors.append(_selector(controller, resource))
        requirements = {str(each): each for selector in selectors for each in selector.requirements}
        if not requirements:
            return ()
        return _constraints(",".join(sorted(requirements)))


@lru_cache(4096)
def _selector(controller: Cached, resource: ResourceType) -> LabelSelector:
    spec: dict[str, Any] = controller.object().get("spec") or {}
    if resource is REPLICATION_CONTROLLERS:
        return LabelSelector.from_labels(spec.get("selector"))
    try:
        return LabelSelector.from_object(spec.get("selector"))
    except SelectorError:
        return LabelSelector()
