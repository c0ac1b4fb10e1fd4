"""/metrics: the API server's metrics, under Kubernetes' names.

Counting is a dictionary update on the request path; the Prometheus text is made when scraped.
"""

from __future__ import annotations

import resource as process_resource
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.store import Store
from steersman.http.prometheus import exposed

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["RequestMetrics", "render_metrics"]

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RequestMetrics:
    """Requests by verb, resource and code, and how long they took."""

    def __init__(self) -> None:
        #: By verb, group, resource and code: how many took how long (one per bucket), and their seconds.
        self._times: dict[tuple[str, str, str, int], list[float]] = {}

    def observe(self, verb: str, group: str, resource: str, code: int, seconds: float) -> None:
        key = (verb, group, resource, code)
        times = self._times.get(key)
        if times is None:
            times = self._times[key] = [0.0] * (len(_BUCKETS) + 2)
        times[bisect_left(_BUCKETS, seconds)] += 1
        times[-1] += seconds

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        counter = CounterMetricFamily(
            "apiserver_request",
            "Requests answered, by verb, group, resource and HTTP code.",
            labels=["verb", "group", "resource", "code"],
        )
        by_resource: dict[tuple[str, str], list[float]] = {}
        for (verb, group, resource, code), times in self._times.items():
            counter.add_metric([verb, group, resource, str(code)], sum(times[:-1]))
            so_far = by_resource.get((verb, resource), [0.0] * len(times))
            by_resource[(verb, resource)] = [one + other for one, other in zip(so_far, times, strict=True)]
        yield counter
        histogram = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Time from a request's arrival to its answer.",
            labels=["verb", "resource"],
        )
        for (verb, resource), times in by_resource.items():
            counts = accumulate(times[:-1])
            buckets = list(zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True))
            histogram.add_metric([verb, resource], buckets, sum_value=times[-1])
        yield histogram


def render_metrics(requests: RequestMetrics, store: Store, catalog: Catalog, watches: int) -> bytes:
    """Everything, as Prometheus text."""
    from prometheus_client.core import GaugeMetricFamily

    def collect() -> Iterator[Metric]:
        yield from requests.collect()
        yield GaugeMetricFamily("apiserver_longrunning_requests", "Open watches.", value=watches)
        yield GaugeMetricFamily(
            "steersman_store_revision", "The store's newest revision.", value=store.revision
        )
        yield GaugeMetricFamily(
            "steersman_store_compacted_revision", "The newest forgotten revision.", value=store.compacted
        )
        objects = GaugeMetricFamily(
            "apiserver_storage_objects", "Stored objects by resource.", labels=["resource"]
        )
        for resource in catalog:
            if not resource.converts and resource.type.storage is not None:
                objects.add_metric([resource.type.group_resource], store.count(resource.prefix))
        yield objects
        peak = process_resource.getrusage(process_resource.RUSAGE_SELF).ru_maxrss * 1024
        yield GaugeMetricFamily(
            "steersman_process_peak_memory_bytes", "The most memory ever held.", value=peak
        )

    return exposed(collect(), process=True)
