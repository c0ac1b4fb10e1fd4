"""The replica count that each metric of an autoscaler proposes, and the metric's current value for the
status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from steersman.cluster.controllers.autoscaling.replica_count import (
    Scaling,
    Tolerances,
    by_average,
    by_ratio,
    by_total,
    by_utilization,
)
from steersman.cluster.controllers.metrics_source import MetricsError, MetricsSource
from steersman.cluster.controllers.selector_text import selector_text
from steersman.objects.errors import SelectorError
from steersman.objects.kinds.types.autoscaling_v2 import (
    ContainerResourceMetricSource,
    ExternalMetricSource,
    MetricIdentifier,
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
    ObjectMetricSource,
    PodsMetricSource,
)
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.quantities import Quantity
from steersman.objects.selectors import EVERYTHING, LabelSelector

__all__ = ["NoProposal", "Proposal", "Proposals", "ScaleTarget"]


_MAX_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Proposal:
    """The replica count that one metric proposes, with its entry for `status.currentMetrics`."""

    replicas: int
    #: What the number comes from, for people.
    metric: str
    #: What `status.currentMetrics` says of it.
    status: MetricStatus


class NoProposal(Exception):
    """A metric without a usable value: `reason` and `cause` go into events and conditions, inside a longer
    message.
    """

    def __init__(self, reason: str, cause: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.cause = cause


@dataclass(frozen=True, slots=True)
class ScaleTarget:
    """The workload to be scaled."""

    namespace: str
    #: What it should have, and what it has.
    spec_replicas: int
    status_replicas: int
    selector: LabelSelector
    pods: Sequence[Pod]
    tolerances: Tolerances
    now: datetime

    @property
    def scaling(self) -> Scaling:
        return Scaling(self.spec_replicas, self.pods, self.tolerances, self.now)


class Proposals:
    """Computes proposals from a metrics source."""

    def __init__(self, source: MetricsSource) -> None:
        self._source = source

    async def of(self, metric: MetricSpec, target: ScaleTarget) -> Proposal:
        """Raises `NoProposal`."""
        kind = metric["type"]
        field = kind[0].lower() + kind[1:]
        spec = cast("Mapping[str, Any]", metric)[field]
        compute, reason, about = {
            "Resource": (self._resource, "FailedGetResourceMetric", f"{spec.get('name')} resource metric"),
            "ContainerResource": (
                self._resource,
                "FailedGetContainerResourceMetric",
                f"{spec.get('container')} container metric",
            ),
            "Pods": (self._pods, "FailedGetPodsMetric", "pods metric"),
            "Object": (self._object, "FailedGetObjectMetric", "object metric"),
            "External": (
                self._external,
                "FailedGetExternalMetric",
                f"{(spec.get('metric') or {}).get('name')} external metric",
            ),
        }[kind]
        try:
            replicas, name, current = await compute(spec, target)
        except _Wrapped as error:
            text = f"failed to get {about} value: {error}"
            raise NoProposal(reason, str(error.__cause__), text) from error
        except (MetricsError, SelectorError) as error:
            raise NoProposal(reason, str(error), f"failed to get {about} value: {error}") from error
        return Proposal(replicas, name, cast("MetricStatus", {"type": kind, field: current}))

    async def _resource(
        self, spec: ContainerResourceMetricSource, target: ScaleTarget
    ) -> tuple[int, str, Mapping[str, Any]]:
        name, container, goal = spec["name"], spec.get("container", ""), spec["target"]
        if "averageValue" not in goal and "averageUtilization" not in goal:
            raise MetricsError(
                "invalid resource metric source: neither an average utilization target nor an average value "
                "(usage) target was set"
            )
        what = "usage" if "averageValue" in goal else "utilization"
        try:
            metrics = await self._source.resource(target.namespace, target.selector, name, container)
        except MetricsError as error:
            raise MetricsError(
                f"failed to get {name} {what}: unable to get metrics for resource {name}: {error}"
            ) from error
        current: MetricValueStatus = {}
        try:
            if what == "usage":
                replicas, average = by_average(target.scaling, metrics, name, _milli(goal["averageValue"]))
                shown = f"{name} resource"
            else:
                wanted = goal["averageUtilization"]
                replicas, percentage, average = by_utilization(
                    target.scaling, metrics, name, container, wanted
                )
                current["averageUtilization"] = percentage
                of = "container resource" if container else "resource"
                shown = f"{name} {of} utilization (percentage of request)"
        except MetricsError as error:
            raise MetricsError(f"failed to get {name} {what}: {error}") from error
        current["averageValue"] = str(Quantity(average, -3, "BinarySI" if name == "memory" else "DecimalSI"))
        status = {"name": name, "current": current}
        return replicas, shown, status | ({"container": container} if container else {})

    async def _pods(self, spec: PodsMetricSource, target: ScaleTarget) -> tuple[int, str, Mapping[str, Any]]:
        name, selector = spec["metric"]["name"], _selector(spec["metric"])
        try:
            metrics = await self._source.pods(target.namespace, target.selector, name, selector)
        except MetricsError as error:
            raise MetricsError(f"unable to get metric {name}: {error}") from error
        goal = _milli(spec["target"]["averageValue"])
        replicas, average = by_average(target.scaling, metrics, "", goal)
        status = {"metric": spec["metric"], "current": {"averageValue": _shown(average)}}
        return replicas, f"pods metric {name}", status

    async def _object(
        self, spec: ObjectMetricSource, target: ScaleTarget
    ) -> tuple[int, str, Mapping[str, Any]]:
        name, goal, reference = spec["metric"]["name"], spec["target"], spec["describedObject"]
        kind = reference["kind"]
        field = {"Value": "value", "AverageValue": "averageValue"}.get(goal["type"], "")
        if field not in goal:
            raise MetricsError(
                "invalid object metric source: neither a value target nor an average value target was set"
            )
        try:
            usage = await self._source.object(target.namespace, reference, name, _selector(spec["metric"]))
        except MetricsError as error:
            where = f"{kind} {target.namespace}/{reference['name']}"
            cause = MetricsError(f"unable to get metric {name} on {where}: {error}")
            if field == "value":
                raise cause from error
            raise _Wrapped(f"failed to get {name} object metric: {cause}") from cause
        replicas, told = self._by_value(target, usage, goal, field)
        shown = f"{kind} metric {name}" if field == "value" else _external_name(spec["metric"])
        current = {"metric": spec["metric"], "current": {field: _shown(told)}, "describedObject": reference}
        return replicas, shown, current

    async def _external(
        self, spec: ExternalMetricSource, target: ScaleTarget
    ) -> tuple[int, str, Mapping[str, Any]]:
        name, goal, metric = spec["metric"]["name"], spec["target"], spec["metric"]
        field = next((one for one in ("averageValue", "value") if one in goal), "")
        if not field:
            raise MetricsError(
                "invalid external metric source: neither a value target nor an average value target was set"
            )
        try:
            values = await self._source.external(target.namespace, name, _selector(metric))
        except MetricsError as error:
            where = f"{target.namespace}/{name}/{selector_text(metric.get('selector'))}"
            cause = MetricsError(f"unable to get external metric {where}: {error}")
            about = f"{name} external metric" if field == "averageValue" else f"external metric {name}"
            raise _Wrapped(f"failed to get {about}: {cause}") from cause
        usage = min(sum(values), _MAX_INT64)
        replicas, told = self._by_value(target, usage, goal, field)
        return replicas, _external_name(metric), {"metric": metric, "current": {field: _shown(told)}}

    @staticmethod
    def _by_value(target: ScaleTarget, usage: int, goal: MetricTarget, field: str) -> tuple[int, int]:
        if field == "value":
            return by_ratio(target.scaling, usage, _milli(goal["value"])), usage
        return by_total(target.status_replicas, usage, _milli(goal["averageValue"]), target.tolerances)


class _Wrapped(Exception):
    """An error message around the message of its cause."""


def _external_name(metric: MetricIdentifier) -> str:
    return f"external metric {metric['name']}({selector_text(metric.get('selector'))})"


def _selector(metric: MetricIdentifier) -> LabelSelector:
    """Which values of the metric: all of them where nobody says. Raises SelectorError."""
    selector = metric.get("selector")
    return EVERYTHING if selector is None else LabelSelector.from_object(selector)


def _milli(quantity: str) -> int:
    return Quantity.parse(quantity).milli_value


def _shown(milli: int) -> str:
    return str(Quantity(milli, -3))
