"""The interface through which autoscalers read metrics, and an implementation for nodes in the same process.

All values are in thousandths, like the milli values of quantities. A source without a value raises
`MetricsError`; users see its text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from steersman.objects.selectors import LabelSelector
from steersman.objects.usage import Usage
from steersman.runtime import Key

__all__ = ["MetricsError", "MetricsSource", "NodeUsage", "PodMetric", "PodMetrics"]

#: For how long a sample was taken where nobody says.
_WINDOW: Final = timedelta(minutes=1)


class MetricsError(Exception):
    """A metric has no value; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class PodMetric:
    """One metric of one pod: its value, its time and its window."""

    milli: int
    time: datetime
    window: timedelta = _WINDOW


#: By the pod's name.
PodMetrics = dict[str, PodMetric]


class MetricsSource(Protocol):
    """The metrics that autoscalers read."""

    async def resource(
        self, namespace: str, selector: LabelSelector, resource: str, container: str
    ) -> PodMetrics:
        """What each pod uses of a resource: one of its containers, or all (an empty name) together."""
        ...

    async def pods(
        self, namespace: str, selector: LabelSelector, metric: str, metric_selector: LabelSelector
    ) -> PodMetrics:
        """A custom metric of each pod."""
        ...

    async def object(
        self, namespace: str, reference: Mapping[str, Any], metric: str, metric_selector: LabelSelector
    ) -> int:
        """A custom metric of one object."""
        ...

    async def external(self, namespace: str, metric: str, metric_selector: LabelSelector) -> Collection[int]:
        """All values of a metric that is about nothing in the cluster."""
        ...


class _PodUsage(Protocol):
    """The resource usage of one pod, as `cluster.node` measures it."""

    @property
    def key(self) -> Key: ...

    @property
    def containers(self) -> Mapping[str, Usage]: ...


class NodeUsage:
    """Resource metrics of pods read from nodes in the same process; other metrics come from `others`."""

    def __init__(
        self,
        usage: Callable[[str], Iterable[_PodUsage]],
        is_selected: Callable[[Key, LabelSelector], bool],
        now: Callable[[], datetime],
        others: MetricsSource,
    ) -> None:
        """`usage` gives the pods of a namespace; `is_selected` says whether a pod matches a selector."""
        self._usage = usage
        self._is_selected = is_selected
        self._now = now
        self.pods = others.pods
        self.object = others.object
        self.external = others.external

    async def resource(
        self, namespace: str, selector: LabelSelector, resource: str, container: str
    ) -> PodMetrics:
        now = self._now()
        found = {}
        for pod in self._usage(namespace):
            containers = pod.containers
            if not self._is_selected(pod.key, selector) or (container and container not in containers):
                continue
            chosen = [containers[container]] if container else list(containers.values())
            milli = _milli(resource, chosen)
            if milli is not None:
                found[pod.key.name] = PodMetric(milli, now, timedelta(0))
        if not found:
            raise MetricsError("no metrics returned from resource metrics API")
        return found


def _milli(resource: str, usages: Iterable[Usage]) -> int | None:
    if resource == "cpu":
        return round(sum(usage.cpu_cores for usage in usages) * 1000)
    if resource == "memory":
        return sum(usage.memory_bytes for usage in usages) * 1000
    return None
