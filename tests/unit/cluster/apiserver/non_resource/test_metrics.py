"""The Prometheus text: complete, and readable by Prometheus' own parser."""

from __future__ import annotations

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from steersman.cluster.apiserver.non_resource.metrics import RequestMetrics, render_metrics
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.schema.resources import all_resources
from steersman.cluster.store import Store, open_store
from tests.support.api import ApiClient, config_map, with_api

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parse(text: bytes) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


async def store_with(*keys: str) -> Store:
    store = await open_store(":memory:")
    for key in keys:
        await store.put(key, b"{}")
    return store


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[(name, tuple(sorted(labels.items())))]


def test_requests_are_counted_and_timed() -> None:
    metrics = RequestMetrics()
    for seconds in (0.0005, 0.001, 0.3, 60.0):
        metrics.observe("get", "", "pods", 200, seconds)
    metrics.observe("get", "", "pods", 404, 0.002)
    metrics.observe("create", "apps", 'odd"\\\n', 201, 0.002)

    async def render() -> bytes:
        store = await store_with("/core/pods/x/a", "/core/pods/x/b", "/core/podtemplates/x/a")
        return render_metrics(metrics, store, Catalog(all_resources()), 3)

    samples = parse(asyncio.run(render()))
    labels = {"verb": "get", "resource": "pods"}
    assert value(samples, "apiserver_request_total", **labels, group="", code="200") == 4
    assert value(samples, "apiserver_request_total", **labels, group="", code="404") == 1
    assert (
        value(
            samples, "apiserver_request_total", verb="create", group="apps", resource='odd"\\\n', code="201"
        )
        == 1
    )
    duration = "apiserver_request_duration_seconds"
    assert value(samples, f"{duration}_bucket", **labels, le="0.001") == 2
    assert value(samples, f"{duration}_bucket", **labels, le="0.25") == 3
    assert value(samples, f"{duration}_bucket", **labels, le="0.5") == 4
    assert value(samples, f"{duration}_bucket", **labels, le="10.0") == 4
    assert value(samples, f"{duration}_bucket", **labels, le="+Inf") == 5
    assert value(samples, f"{duration}_count", **labels) == 5
    assert abs(value(samples, f"{duration}_sum", **labels) - 60.3035) < 1e-9
    assert value(samples, "apiserver_longrunning_requests") == 3
    assert value(samples, "apiserver_storage_objects", resource="pods") == 2
    assert value(samples, "apiserver_storage_objects", resource="podtemplates") == 1
    assert value(samples, "steersman_store_revision") == 3
    assert value(samples, "process_resident_memory_bytes") > 0


@with_api
async def test_a_cluster_counts_its_requests(client: ApiClient) -> None:
    await client.ok("POST", "/api/v1/namespaces/default/configmaps", config_map("a"))
    await client.ask("GET", "/api/v1/namespaces/default/configmaps/nope")
    async with client.watch("/api/v1/pods?watch=1"):
        answer = await client.raw("GET", "/metrics")
    assert answer.headers.get("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    samples = parse(answer.content)
    counted = "apiserver_request_total"
    assert value(samples, counted, verb="create", group="", resource="configmaps", code="201") == 1
    assert value(samples, counted, verb="get", group="", resource="configmaps", code="404") == 1
    # The cluster makes one of its own a moment after the start.
    assert value(samples, "apiserver_storage_objects", resource="configmaps") in (1, 2)
    assert value(samples, "apiserver_storage_objects", resource="namespaces") == 4
    assert value(samples, "apiserver_longrunning_requests") == 1
