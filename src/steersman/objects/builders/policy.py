"""PodDisruptionBudget and PriorityClass: which pods may be evicted, and which go first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self, get_args

from steersman.objects import resources
from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.resource import ClusterResource, Resource
from steersman.objects.kinds.enums import PreemptionPolicy, UnhealthyPodEvictionPolicyType

__all__ = ["PodDisruptionBudget", "PriorityClass"]

_UNHEALTHY_EVICTIONS: Final = get_args(UnhealthyPodEvictionPolicyType)
_PREEMPTIONS: Final = get_args(PreemptionPolicy)
#: What is above is the system's.
_PRIORITY_MAX: Final = 1_000_000_000


class PodDisruptionBudget(Resource):
    """`PodDisruptionBudget("web").selector(app="web").max_unavailable(1)`."""

    __slots__ = ()

    resource_type: ClassVar = resources.POD_DISRUPTION_BUDGETS

    def selector(self, selector: Selector | Mapping[str, str] | None = None, /, **labels: str) -> Self:
        """The pods that are protected."""
        return self._put_spec("selector", label_selector(self._error, "spec.selector", selector, labels))

    def min_available(self, pods: int | str) -> Self:
        """A number or a percentage such as "50%"."""
        return self._limit("minAvailable", "maxUnavailable", pods)

    def max_unavailable(self, pods: int | str) -> Self:
        """A number or a percentage such as "50%"."""
        return self._limit("maxUnavailable", "minAvailable", pods)

    def unhealthy_eviction(self, policy: UnhealthyPodEvictionPolicyType) -> Self:
        """Whether pods that are not ready can be evicted in any case."""
        field = "unhealthyPodEvictionPolicy"
        return self._put_spec(field, self._choice(f"spec.{field}", policy, _UNHEALTHY_EVICTIONS))

    def _limit(self, field: str, other: str, pods: int | str) -> Self:
        if other in self.spec:
            raise self._error(
                f"spec.{field}", f"a budget has minAvailable or maxUnavailable, and {other} is set"
            )
        return self._put_spec(field, self._count_or_percent(f"spec.{field}", pods))

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = obj.setdefault("spec", {})
        if "selector" not in spec:
            raise self._error("spec.selector", "which pods? Call selector(app='web')")
        if "minAvailable" not in spec and "maxUnavailable" not in spec:
            raise self._error("spec", "needs min_available or max_unavailable")


class PriorityClass(ClusterResource):
    """`PriorityClass("critical", 1000)`: pods of higher value are scheduled first."""

    __slots__ = ()

    resource_type: ClassVar = resources.PRIORITY_CLASSES

    def __init__(self, name: str, value: int) -> None:
        super().__init__(name)
        self._object["value"] = self._count("value", value, -(2**31), _PRIORITY_MAX)

    def description(self, text: str) -> Self:
        return self._put("description", self._text("description", text))

    def global_default(self, value: bool = True) -> Self:
        """For pods that name no class; one class of the cluster can have it."""
        return self._put_or_drop("globalDefault", self._flag("globalDefault", value))

    def preemption(self, policy: PreemptionPolicy) -> Self:
        """Whether pods of lower value are evicted to make room."""
        return self._put("preemptionPolicy", self._choice("preemptionPolicy", policy, _PREEMPTIONS))
