"""Prometheus' text format: the lines written by hand are those that its own library writes."""

from __future__ import annotations

import pytest
from prometheus_client.core import GaugeMetricFamily

from steersman.http.prometheus import exposed, family, label_pairs

VALUES = ["web", "", 'say "hi"', "C:\\temp", "two\nlines"]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_lines_by_hand_are_those_of_the_library(value: str) -> None:
    metric = GaugeMetricFamily("pods", "How many there are.", labels=["app", "tier"])
    metric.add_metric([value, "front"], 3)
    labels = label_pairs({"app": value, "tier": "front"})
    by_hand = [*family("pods", "gauge", "How many there are."), f"pods{{{labels}}} 3.0", ""]
    assert exposed([metric]).decode() == "\n".join(by_hand)


def test_metrics_of_the_process_are_added_when_asked_for() -> None:
    assert b"process_cpu_seconds_total" in exposed([], process=True)
    assert exposed([]) == b""
