"""The kubelet's metrics endpoints, `/metrics` and `/metrics/resource`, under the kubelet's names. Computed
when scraped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from steersman.cluster.node.api.measuring import NodeMeasured
from steersman.http.prometheus import exposed

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["cadvisor_metrics", "node_metrics", "probe_metrics", "resource_metrics"]


def node_metrics(
    node: str, running_pods: int, containers: Mapping[str, int], requests: Mapping[tuple[str, str], int]
) -> bytes:
    """What the agent tells about itself: `containers` by state, `requests` by method and path."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    def collect() -> Iterator[Metric]:
        name = GaugeMetricFamily(
            "kubelet_node_name", "The node's name. The count is always 1.", labels=["node"]
        )
        name.add_metric([node], 1)
        yield name
        yield GaugeMetricFamily(
            "kubelet_running_pods", "Number of pods that have a running pod sandbox", value=running_pods
        )
        states = GaugeMetricFamily(
            "kubelet_running_containers", "Number of containers currently running", labels=["container_state"]
        )
        for state, count in sorted(containers.items()):
            states.add_metric([state], count)
        yield states
        served = CounterMetricFamily(
            "kubelet_http_requests", "Number of the http requests received", labels=["method", "path"]
        )
        for (method, path), count in sorted(requests.items()):
            served.add_metric([method, path], count)
        yield served

    return exposed(collect(), process=True)


def resource_metrics(measured: NodeMeasured) -> bytes:
    """What metrics servers scrape."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    time = measured.time
    node, pods = measured.node, measured.pods
    in_container, in_pod = ["container", "pod", "namespace"], ["pod", "namespace"]
    cpu = CounterMetricFamily(
        "container_cpu_usage_seconds",
        "Cumulative cpu time consumed by the container in core-seconds",
        labels=in_container,
    )
    memory = GaugeMetricFamily(
        "container_memory_working_set_bytes",
        "Current working set of the container in bytes",
        labels=in_container,
    )
    started = GaugeMetricFamily(
        "container_start_time_seconds",
        "Start time of the container since unix epoch in seconds",
        labels=in_container,
    )
    pod_cpu = CounterMetricFamily(
        "pod_cpu_usage_seconds", "Cumulative cpu time consumed by the pod in core-seconds", labels=in_pod
    )
    pod_memory = GaugeMetricFamily(
        "pod_memory_working_set_bytes", "Current working set of the pod in bytes", labels=in_pod
    )
    for pod in pods:
        whose = [pod.key.name, pod.key.namespace]
        for one in pod.containers:
            labels = [one.name, *whose]
            cpu.add_metric(labels, one.cpu_seconds, timestamp=time)
            memory.add_metric(labels, one.usage.memory_bytes, timestamp=time)
            started.add_metric(labels, one.started_at)
        pod_cpu.add_metric(whose, pod.cpu_seconds, timestamp=time)
        pod_memory.add_metric(whose, pod.usage.memory_bytes, timestamp=time)
    node_cpu = CounterMetricFamily(
        "node_cpu_usage_seconds", "Cumulative cpu time consumed by the node in core-seconds"
    )
    node_cpu.add_metric([], node.cpu_seconds, timestamp=time)
    node_memory = GaugeMetricFamily(
        "node_memory_working_set_bytes", "Current working set of the node in bytes"
    )
    node_memory.add_metric([], node.usage.memory_bytes, timestamp=time)
    problems = GaugeMetricFamily(
        "resource_scrape_error",
        "1 if there was an error while getting container metrics, 0 otherwise",
        value=0,
    )
    return exposed((cpu, memory, started, node_cpu, node_memory, pod_cpu, pod_memory, problems))


def cadvisor_metrics(measured: NodeMeasured, cores: float, memory_bytes: int) -> bytes:
    """The same as cAdvisor says it; the machine's size besides."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    labels = ["container", "id", "namespace", "pod"]
    cpu = CounterMetricFamily(
        "container_cpu_usage_seconds", "Cumulative cpu time consumed in seconds.", labels=labels
    )
    usage = GaugeMetricFamily("container_memory_usage_bytes", "Current memory usage in bytes.", labels=labels)
    working = GaugeMetricFamily(
        "container_memory_working_set_bytes", "Current working set in bytes.", labels=labels
    )
    started = GaugeMetricFamily(
        "container_start_time_seconds",
        "Start time of the container since unix epoch in seconds.",
        labels=labels,
    )
    for pod in measured.pods:
        for one in pod.containers:
            values = [one.name, f"/kubepods/pod{pod.uid}/{one.name}", pod.key.namespace, pod.key.name]
            cpu.add_metric(values, one.cpu_seconds, timestamp=measured.time)
            usage.add_metric(values, one.usage.memory_bytes, timestamp=measured.time)
            working.add_metric(values, one.usage.memory_bytes, timestamp=measured.time)
            started.add_metric(values, one.started_at, timestamp=measured.time)
    machine = (
        GaugeMetricFamily("machine_cpu_cores", "Number of logical CPU cores.", value=cores),
        GaugeMetricFamily(
            "machine_memory_bytes", "Amount of memory installed on the machine.", value=memory_bytes
        ),
    )
    return exposed((cpu, usage, working, started, *machine))


def probe_metrics(counts: Iterable[tuple[tuple[str, ...], int]]) -> bytes:
    """How often probes ended how: by probe_type, result, container, pod, namespace, pod_uid."""
    from prometheus_client.core import CounterMetricFamily

    probes = CounterMetricFamily(
        "prober_probe",
        "Cumulative number of a liveness, readiness or startup probe for a container by result.",
        labels=["probe_type", "result", "container", "pod", "namespace", "pod_uid"],
    )
    for labels, count in counts:
        probes.add_metric(list(labels), count)
    return exposed((probes,), process=True)
