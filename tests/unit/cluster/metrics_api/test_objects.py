"""How metrics are shown."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.metrics_api.documents import openapi
from steersman.cluster.metrics_api.objects import as_table, listed, node_metrics, pod_metrics, single
from steersman.cluster.schema.openapi.foreign import converted, part_of
from steersman.objects.usage import Usage

TIME = 1_800_000_000.0
MOMENT = "2027-01-15T08:00:00Z"


def pod() -> dict[str, Any]:
    used = {"b": Usage(0.25, 64 << 20), "a": Usage(0.0000001, 1536)}
    return pod_metrics("default", "web", {"app": "web"}, TIME, used)


def test_amounts_are_quantities() -> None:
    node = single("NodeMetrics", node_metrics("n", {}, TIME, Usage(1.5, 3 << 30)))
    assert node == {
        "kind": "NodeMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {"name": "n", "creationTimestamp": MOMENT},
        "timestamp": MOMENT,
        "window": "10s",
        "usage": {"cpu": "1500m", "memory": "3Gi"},
    }


def test_a_pod_shows_its_containers_in_order() -> None:
    assert pod()["metadata"]["labels"] == {"app": "web"}
    assert pod()["containers"] == [
        {"name": "a", "usage": {"cpu": "100n", "memory": "1536"}},
        {"name": "b", "usage": {"cpu": "250m", "memory": "64Mi"}},
    ]
    assert listed("PodMetrics", [pod()])["kind"] == "PodMetricsList"


@pytest.mark.parametrize(
    ("included", "kind"), [("Metadata", "PartialObjectMetadata"), ("Object", "PodMetrics"), ("None", None)]
)
def test_a_table_has_sums_and_as_much_of_the_objects_as_is_asked_for(included: str, kind: str | None) -> None:
    table = as_table([pod()], "PodMetrics", included)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "cpu", "memory", "Window"]
    (row,) = table["rows"]
    assert row["cells"] == ["web", "250000100n", "67110400", "10s"]
    assert (row["object"] or {}).get("kind") == kind


def test_the_api_servers_documents_can_take_ours_in() -> None:
    part = part_of(openapi(), "apis/metrics.k8s.io/v1beta1")
    assert len(part["paths"]) == 5
    assert b"PodMetrics" in converted(part, "v1beta1")
