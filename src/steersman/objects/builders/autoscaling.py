"""HorizontalPodAutoscaler (autoscaling/v2): how many replicas a workload has, by what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Self, get_args

from steersman.objects import resources
from steersman.objects.builders.labels import Selector, label_selector
from steersman.objects.builders.resource import Resource
from steersman.objects.names import is_dns1123_label

__all__ = ["HorizontalPodAutoscaler"]

PolicySelect = Literal["Max", "Min", "Disabled"]
_POLICY_SELECTS: Final = get_args(PolicySelect)
_Amount = str | int | float
_SelectorLike = Selector | Mapping[str, str]
_HALF_HOUR: Final = 1800
_HOUR: Final = 3600


class HorizontalPodAutoscaler(Resource):
    """`HorizontalPodAutoscaler("web").target("Deployment", "web").replicas(2, 10).cpu(80)`."""

    __slots__ = ()

    resource_type: ClassVar = resources.HORIZONTAL_POD_AUTOSCALERS

    def target(self, kind: str, name: str, api_version: str = "apps/v1") -> Self:
        """What is scaled: anything with a scale subresource."""
        reference = self._reference("spec.scaleTargetRef", kind, name, api_version)
        return self._put_spec("scaleTargetRef", reference)

    def target_of(self, resource: Resource) -> Self:
        """The same, from its builder."""
        kind = resource.resource_type
        return self.target(kind.kind, resource.name, kind.api_version)

    def replicas(self, low: int, high: int) -> Self:
        return self.min_replicas(low).max_replicas(high)

    def min_replicas(self, count: int) -> Self:
        return self._put_spec("minReplicas", self._count("spec.minReplicas", count))

    def max_replicas(self, count: int) -> Self:
        return self._put_spec("maxReplicas", self._count("spec.maxReplicas", count, 1))

    # --- What is measured. Several metrics: the one that asks for the most replicas decides.

    def cpu(self, utilization: int) -> Self:
        """Keep the average at this percentage of what the pods request."""
        return self.resource("cpu", utilization=utilization)

    def memory(self, utilization: int) -> Self:
        return self.resource("memory", utilization=utilization)

    def resource(
        self,
        name: str,
        *,
        utilization: int | None = None,
        average_value: _Amount | None = None,
        container: str | None = None,
    ) -> Self:
        """A resource of the pods, or of one of their containers: as a percentage or an amount."""
        target = self._target(utilization=utilization, average_value=average_value)
        source: dict[str, Any] = {"name": self._text("spec.metrics", name), "target": target}
        if container is None:
            return self._metric("Resource", source)
        source["container"] = self._name("spec.metrics", container, is_dns1123_label)
        return self._metric("ContainerResource", source)

    def pods_metric(
        self, name: str, average_value: _Amount, *, selector: _SelectorLike | None = None
    ) -> Self:
        """A metric every pod has, averaged."""
        target = self._target(average_value=average_value)
        return self._metric("Pods", {"metric": self._identifier(name, selector), "target": target})

    def object_metric(
        self,
        name: str,
        kind: str,
        object_name: str,
        api_version: str,
        *,
        value: _Amount | None = None,
        average_value: _Amount | None = None,
        selector: _SelectorLike | None = None,
    ) -> Self:
        """A metric of one other object, such as the requests of an ingress."""
        source = {
            "describedObject": self._reference("spec.metrics", kind, object_name, api_version),
            "metric": self._identifier(name, selector),
            "target": self._target(value=value, average_value=average_value),
        }
        return self._metric("Object", source)

    def external_metric(
        self,
        name: str,
        *,
        value: _Amount | None = None,
        average_value: _Amount | None = None,
        selector: _SelectorLike | None = None,
    ) -> Self:
        """A metric from outside the cluster, such as the length of a queue."""
        target = self._target(value=value, average_value=average_value)
        return self._metric("External", {"metric": self._identifier(name, selector), "target": target})

    # --- How fast

    def scale_up(
        self,
        *,
        pods: int | None = None,
        percent: int | None = None,
        period: int = 60,
        stabilization: int | None = None,
        select: PolicySelect | None = None,
    ) -> Self:
        """At most so many pods, or so many percent, in a period of seconds; call again for more policies.

        `stabilization` is how many seconds are looked back at before moving; `select` says which of
        several policies counts.
        """
        return self._behavior("scaleUp", pods, percent, period, stabilization, select)

    def scale_down(
        self,
        *,
        pods: int | None = None,
        percent: int | None = None,
        period: int = 60,
        stabilization: int | None = None,
        select: PolicySelect | None = None,
    ) -> Self:
        """As `scale_up`."""
        return self._behavior("scaleDown", pods, percent, period, stabilization, select)

    # --- How it is put together

    def _reference(self, field: str, kind: str, name: str, api_version: str) -> dict[str, str]:
        return {
            "apiVersion": self._text(field, api_version),
            "kind": self._text(field, kind),
            "name": self._name(field, name),
        }

    def _metric(self, kind: str, source: dict[str, Any]) -> Self:
        field = kind[0].lower() + kind[1:]
        self._edit_spec().setdefault("metrics", []).append({"type": kind, field: source})
        return self

    def _identifier(self, name: str, selector: _SelectorLike | None) -> dict[str, Any]:
        metric: dict[str, Any] = {"name": self._text("spec.metrics", name)}
        if selector is not None:
            metric["selector"] = label_selector(self._error, "spec.metrics", selector, {})
        return metric

    def _target(
        self,
        *,
        utilization: int | None = None,
        value: _Amount | None = None,
        average_value: _Amount | None = None,
    ) -> dict[str, Any]:
        given = sum(one is not None for one in (utilization, value, average_value))
        if given != 1:
            raise self._error("spec.metrics", "needs exactly one of utilization, value and average_value")
        if utilization is not None:
            percent = self._count("spec.metrics", utilization, 1)
            return {"type": "Utilization", "averageUtilization": percent}
        if value is not None:
            return {"type": "Value", "value": self._quantity("spec.metrics", value)}
        assert average_value is not None
        return {"type": "AverageValue", "averageValue": self._quantity("spec.metrics", average_value)}

    def _behavior(
        self,
        side: str,
        pods: int | None,
        percent: int | None,
        period: int,
        stabilization: int | None,
        select: str | None,
    ) -> Self:
        field = f"spec.behavior.{side}"
        rules = self._edit_spec().setdefault("behavior", {}).setdefault(side, {})
        for kind, value in (("Pods", pods), ("Percent", percent)):
            if value is not None:
                policy = {
                    "type": kind,
                    "value": self._count(field, value, 1),
                    "periodSeconds": self._count(field, period, 1, _HALF_HOUR),
                }
                rules.setdefault("policies", []).append(policy)
        if stabilization is not None:
            rules["stabilizationWindowSeconds"] = self._count(field, stabilization, 0, _HOUR)
        if select is not None:
            rules["selectPolicy"] = self._choice(field, select, _POLICY_SELECTS)
        return self

    def _complete(self, obj: dict[str, Any]) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("scaleTargetRef"):
            raise self._error("spec.scaleTargetRef", "what is to be scaled? Call target('Deployment', 'web')")
        if "maxReplicas" not in spec:
            raise self._error("spec.maxReplicas", "how many at most? Call replicas(1, 10)")
        low = spec.get("minReplicas", 1)
        if low > spec["maxReplicas"]:
            raise self._error("spec.minReplicas", f"{low} is more than maxReplicas, {spec['maxReplicas']}")
