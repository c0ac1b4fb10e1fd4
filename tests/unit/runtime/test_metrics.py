"""What /metrics shows, from the first scrape on."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from steersman.runtime.metrics import ControllerMetrics, Histogram, Metrics
from steersman.runtime.queue import WorkQueue
from tests.sim.virtual_time import VirtualClock, run_virtual

CONTROLLER = {"controller": "webapp"}
QUEUE = {"controller": "webapp", "name": "webapp"}
RESULTS = [{**CONTROLLER, "result": result} for result in ("success", "error", "requeue", "requeue_after")]
EXPECTED = [
    *[("controller_runtime_reconcile_total", labels) for labels in RESULTS],
    *[("reconcile_total", labels) for labels in RESULTS],
    ("controller_runtime_reconcile_errors_total", CONTROLLER),
    ("reconcile_errors_total", CONTROLLER),
    ("controller_runtime_terminal_reconcile_errors_total", CONTROLLER),
    ("controller_runtime_reconcile_panics_total", CONTROLLER),
    ("controller_runtime_reconcile_timeouts_total", CONTROLLER),
    ("controller_runtime_reconcile_time_seconds_count", CONTROLLER),
    ("reconcile_duration_seconds_count", CONTROLLER),
    ("controller_runtime_active_workers", CONTROLLER),
    ("workqueue_depth", QUEUE),
    ("workqueue_adds_total", QUEUE),
    ("workqueue_queue_duration_seconds_count", QUEUE),
    ("workqueue_work_duration_seconds_count", QUEUE),
    ("workqueue_unfinished_work_seconds", QUEUE),
    ("workqueue_longest_running_processor_seconds", QUEUE),
    ("workqueue_retries_total", QUEUE),
    ("leader_election_master_status", {"name": "webapp-leader"}),
    ("controller_runtime_webhook_latency_seconds_count", {"webhook": "/validate"}),
    ("controller_runtime_webhook_requests_total", {"webhook": "/validate", "code": "200"}),
    ("controller_runtime_webhook_requests_in_flight", {"webhook": "/validate"}),
    ("controller_runtime_webhook_panics_total", {"webhook": "/validate"}),
]


def scrape(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = metrics.render()[0].decode()
    families = text_string_to_metric_families(text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def value(metrics: Metrics, name: str, /, **labels: str) -> float:
    return scrape(metrics)[name, tuple(sorted(labels.items()))]


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics()
    metrics.add_controller(ControllerMetrics("webapp", 8))
    metrics.add_elector("webapp-leader", lambda: False)
    metrics.webhook("/validate")
    return metrics


def test_everything_is_there_with_zero_before_anything_happened(metrics: Metrics) -> None:
    samples = scrape(metrics)
    for name, labels in EXPECTED:
        assert samples[name, tuple(sorted(labels.items()))] == 0, name
    assert value(metrics, "controller_runtime_max_concurrent_reconciles", controller="webapp") == 8
    assert "# TYPE rest_client_requests_total counter" in metrics.render()[0].decode()


def test_requests_are_counted_by_code_method_and_host(metrics: Metrics) -> None:
    observe = metrics.observe_requests("10.0.0.1:443")
    observe("GET", "200")
    observe("GET", "200")
    observe("PATCH", "<error>")
    assert value(metrics, "rest_client_requests_total", code="200", method="GET", host="10.0.0.1:443") == 2
    assert (
        value(metrics, "rest_client_requests_total", code="<error>", method="PATCH", host="10.0.0.1:443") == 1
    )


def test_histograms_are_cumulative() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        histogram.observe(seconds)
    assert histogram.buckets() == [("0.1", 2), ("1.0", 3), ("+Inf", 4)]
    assert (histogram.count, histogram.sum) == (4, pytest.approx(7.65))


def test_queues_tell_what_is_under_way_and_keep_counting_when_replaced() -> None:
    async def main() -> None:
        clock = VirtualClock()
        controller = ControllerMetrics("webapp", 8)
        metrics = Metrics()
        metrics.add_controller(controller)
        queue: WorkQueue[str] = WorkQueue(clock, metrics=controller.queue)
        for key in ("a", "b", "c"):
            queue.add(key)
        await queue.get()
        await clock.sleep(2)
        await queue.get()
        await clock.sleep(3)
        assert value(metrics, "workqueue_depth", **QUEUE) == 1
        assert value(metrics, "workqueue_unfinished_work_seconds", **QUEUE) == 8
        assert value(metrics, "workqueue_longest_running_processor_seconds", **QUEUE) == 5
        controller.queue.detach()
        assert value(metrics, "workqueue_depth", **QUEUE) == 0
        second: WorkQueue[str] = WorkQueue(clock, metrics=controller.queue)
        second.add("d")
        assert value(metrics, "workqueue_adds_total", **QUEUE) == 4

    run_virtual(main())


def test_registries_are_apart_and_open_to_others(metrics: Metrics) -> None:
    from prometheus_client import Counter

    Counter("my_things_total", "Mine.", registry=metrics.registry).inc()
    assert value(metrics, "my_things_total") == 1
    assert ("my_things_total", ()) not in scrape(Metrics())


def test_scrapers_get_the_format_they_ask_for(metrics: Metrics) -> None:
    assert metrics.render()[1].startswith("text/plain")
    content, content_type = metrics.render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert content.endswith(b"# EOF\n")
