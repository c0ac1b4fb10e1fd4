"""The replica count that brings a metric to its target value. Pure; amounts are in thousandths.

Pods that are not ready yet, or of which nothing is known, must not make the size change the wrong way: when
it would grow they count as idle, when it would shrink as busy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from steersman.cluster.controllers.metrics_source import MetricsError, PodMetrics
from steersman.objects.conditions import find_condition, is_ready
from steersman.objects.kinds.types.core_v1 import Container, Pod
from steersman.objects.lifetime import is_deleting
from steersman.objects.pod_lifecycle import is_sidecar
from steersman.objects.quantities import Quantity
from steersman.objects.times import parse_time

__all__ = [
    "Scaling",
    "Tolerances",
    "by_average",
    "by_ratio",
    "by_total",
    "by_utilization",
]

Milli = dict[str, int]

#: For so long a pod's use of CPU may be that of its start.
_CPU_INITIALIZATION: Final = timedelta(minutes=5)
#: A pod that was never ready for longer than this since its start has never been ready.
_READINESS_DELAY: Final = timedelta(seconds=30)
_NO_PODS: Final = "no pods returned by selector while calculating replica count"
_MAX_INT32: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Tolerances:
    """The relative difference from a metric's target below which nothing is scaled."""

    down: float = 0.1
    up: float = 0.1

    def cover(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Scaling:
    """The workload to be scaled: its replicas, its pods and the current time."""

    current: int
    pods: Sequence[Pod]
    tolerances: Tolerances
    now: datetime


def by_utilization(
    scaling: Scaling, metrics: PodMetrics, resource: str, container: str, target: int
) -> tuple[int, int, int]:
    """By the part of what was requested that is used: (replicas, percentage, average use)."""

    def measure(values: Milli) -> tuple[float, int, int]:
        requests = {pod["metadata"]["name"]: _request(pod, resource, container) for pod in scaling.pods}
        known = [name for name in values if name in requests]
        requested = sum(requests[name] for name in known)
        if not requested:
            raise MetricsError("no metrics returned matched known pods")
        used = sum(values[name] for name in known)
        percentage = used * 100 // requested
        return percentage / target, percentage, used // len(known)

    def when_missing(pod: Pod) -> int:
        return _request(pod, resource, container) * max(100, target) // 100

    found = _Calculation(scaling, metrics, resource, lambda values: measure(values)[0], when_missing)
    replicas = found.replicas()
    _, percentage, average = measure(found.values)
    return replicas, percentage, average


def by_average(scaling: Scaling, metrics: PodMetrics, resource: str, target: int) -> tuple[int, int]:
    """By the average of the pods: (replicas, average)."""

    def average(values: Milli) -> int:
        return sum(values.values()) // len(values)

    found = _Calculation(
        scaling, metrics, resource, lambda values: average(values) / target, lambda pod: target
    )
    return found.replicas(), average(found.values)


def by_ratio(scaling: Scaling, usage: int, target: int) -> int:
    """By a value that goes with the number of pods that are ready."""
    ratio = usage / target
    if not scaling.current:
        return math.ceil(ratio)
    if scaling.tolerances.cover(ratio):
        return scaling.current
    if not scaling.pods:
        raise MetricsError(f"unable to calculate ready pods: {_NO_PODS}")
    ready = sum(pod["status"].get("phase") == "Running" and is_ready(pod) for pod in scaling.pods)
    return min(math.ceil(ratio * ready), _MAX_INT32)


def by_total(replicas: int, usage: int, target: int, tolerances: Tolerances) -> tuple[int, int]:
    """By a value that the pods share: (replicas, the part of each)."""
    if not replicas:
        return min(math.ceil(usage / target), _MAX_INT32), usage
    average = math.ceil(usage / replicas)
    if tolerances.cover(usage / (target * replicas)):
        return replicas, average
    return min(math.ceil(usage / target), _MAX_INT32), average


class _Calculation:
    """Computes the desired replicas from the usage of pods."""

    def __init__(
        self,
        scaling: Scaling,
        metrics: PodMetrics,
        resource: str,
        ratio_of: Callable[[Milli], float],
        when_missing: Callable[[Pod], int],
    ) -> None:
        """`ratio_of` compares values with the target; `when_missing` is what a busy pod would use."""
        if not scaling.pods:
            raise MetricsError(_NO_PODS)
        self._scaling = scaling
        self._ratio_of = ratio_of
        self._when_missing = when_missing
        self._pods = {pod["metadata"]["name"]: pod for pod in scaling.pods}
        self._groups = _Groups(scaling, metrics, resource)
        left_out = {*self._groups.ignored, *self._groups.unready}
        #: What pods that count use.
        self.values: Milli = {name: one.milli for name, one in metrics.items() if name not in left_out}
        if not self.values:
            raise MetricsError("did not receive metrics for targeted pods (pods might be unready)")

    def replicas(self) -> int:
        scaling, groups = self._scaling, self._groups
        ratio = self._ratio_of(self.values)
        grows_past_unready = bool(groups.unready) and ratio > 1.0
        if not grows_past_unready and not groups.missing:
            if scaling.tolerances.cover(ratio):
                return scaling.current
            return math.ceil(ratio * groups.ready)
        values = self._completed(ratio, grows_past_unready)
        completed = self._ratio_of(values)
        turns = (ratio < 1.0 < completed) or (completed < 1.0 < ratio)
        if scaling.tolerances.cover(completed) or turns:
            return scaling.current
        wanted = math.ceil(completed * len(values))
        if (completed < 1.0 and wanted > scaling.current) or (completed > 1.0 and wanted < scaling.current):
            return scaling.current
        return wanted

    def _completed(self, ratio: float, with_unready: bool) -> Milli:
        """With the pods of which nothing is known."""
        values = dict(self.values)
        if ratio < 1.0:
            values |= {name: self._when_missing(self._pods[name]) for name in self._groups.missing}
        elif ratio > 1.0:
            values |= dict.fromkeys(self._groups.missing, 0)
        if with_unready:
            values |= dict.fromkeys(self._groups.unready, 0)
        return values


class _Groups:
    """The pods of a workload grouped by how they enter the average: ready, unready, missing, ignored."""

    def __init__(self, scaling: Scaling, metrics: PodMetrics, resource: str) -> None:
        self.ready = 0
        self.unready: list[str] = []
        self.missing: list[str] = []
        self.ignored: list[str] = []
        for pod in scaling.pods:
            name, phase = pod["metadata"]["name"], pod["status"].get("phase")
            if is_deleting(pod) or phase == "Failed":
                self.ignored.append(name)
            elif phase == "Pending":
                self.unready.append(name)
            elif name not in metrics:
                self.missing.append(name)
            elif resource == "cpu" and _is_starting(
                pod, metrics[name].time - metrics[name].window, scaling.now
            ):
                self.unready.append(name)
            else:
                self.ready += 1


def _is_starting(pod: Pod, sampled_from: datetime, now: datetime) -> bool:
    """Whether the use of CPU says nothing since the pod is not, or was not yet, at its work."""
    status = pod["status"]
    condition = find_condition(status.get("conditions"), "Ready")
    start_time = status.get("startTime")
    if condition is None or start_time is None:
        return True
    start, changed = parse_time(start_time), parse_time(condition["lastTransitionTime"] or "")
    is_unready = condition["status"] == "False"
    if start + _CPU_INITIALIZATION > now:
        return is_unready or sampled_from < changed
    return is_unready and start + _READINESS_DELAY > changed


def _request(pod: Pod, resource: str, container: str) -> int:
    """What a pod, or one of its containers, asked for."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    whole = (spec.get("resources") or {}).get("requests")
    if whole and not container:
        if resource not in whole:
            raise MetricsError(f"missing pod-level request for {resource} in Pod {name}")
        return Quantity.parse(whole[resource]).milli_value
    sidecars = [one for one in spec.get("initContainers") or () if is_sidecar(one)]
    chosen = [one for one in [*spec["containers"], *sidecars] if container in ("", one["name"])]
    if container and not chosen:
        raise MetricsError(f"container {container} not found in Pod {name}")
    return sum(_container_request(one, resource, name) for one in chosen)


def _container_request(container: Container, resource: str, pod: str) -> int:
    requests = (container.get("resources") or {}).get("requests") or {}
    if resource not in requests:
        raise MetricsError(f"missing request for {resource} in container {container['name']} of Pod {pod}")
    return Quantity.parse(requests[resource]).milli_value
