from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.conversion import convert, from_storage, to_storage
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.resources import GVK

Object = dict[str, Any]
HPA = "HorizontalPodAutoscaler"
NOTE = "autoscaling.alpha.kubernetes.io/"
REFERENCE = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}


def normal(api_version: str, kind: str, **fields: Any) -> Object:
    return decode(
        GVK.of(api_version, kind),
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}} | fields,
    ).obj


def metric(kind: str, source: Object) -> Object:
    return {"type": kind[0].upper() + kind[1:], kind: source}


def cpu(percent: int) -> Object:
    return metric(
        "resource", {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}
    )


METRICS = [
    metric("resource", {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}),
    metric("pods", {"metric": {"name": "p"}, "target": {"type": "AverageValue", "averageValue": "10"}}),
    metric(
        "object",
        {
            "describedObject": {"kind": "Service", "name": "s"},
            "metric": {"name": "o", "selector": {"matchLabels": {"a": "<b>"}}},
            "target": {"type": "Value", "value": "5"},
        },
    ),
    metric(
        "object",
        {
            "describedObject": {"kind": "Service", "name": "s"},
            "metric": {"name": "o"},
            "target": {"type": "AverageValue", "averageValue": "5"},
        },
    ),
    metric("external", {"metric": {"name": "e"}, "target": {"type": "Value", "value": "7"}}),
    metric(
        "containerResource",
        {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 50}},
    ),
]
STATUSES = [
    metric("resource", {"name": "cpu", "current": {"averageUtilization": 33, "averageValue": "100m"}}),
    metric("external", {"metric": {"name": "e"}, "current": {"value": "1", "averageValue": "2"}}),
]
BEHAVIOR = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
    },
    "scaleDown": {"selectPolicy": "Disabled"},
}
CONDITIONS = [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}]


def autoscaler(**spec: Any) -> Object:
    return normal("autoscaling/v2", HPA, spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE} | spec)


def test_a_version_converts_to_itself_as_it_is() -> None:
    obj = autoscaler(metrics=[cpu(80)])
    assert convert(obj, "autoscaling", "v2", HPA, "autoscaling", "v2") is obj
    assert to_storage("", "v1", "ConfigMap", obj) is obj


def test_v1_shows_the_first_cpu_target_as_a_percentage() -> None:
    v1 = from_storage("autoscaling", "v1", HPA, autoscaler(metrics=[cpu(60)]))
    assert v1 == normal(
        "autoscaling/v1",
        HPA,
        spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE, "targetCPUUtilizationPercentage": 60},
    )


def test_nothing_is_lost_through_v1_and_back() -> None:
    stored = autoscaler(metrics=[*METRICS, cpu(60)], behavior=BEHAVIOR)
    stored["status"] |= {"currentReplicas": 2, "currentMetrics": STATUSES, "conditions": CONDITIONS}
    before = deepcopy(stored)
    v1 = from_storage("autoscaling", "v1", HPA, stored)
    assert v1["status"]["currentCPUUtilizationPercentage"] == 33
    assert to_storage("autoscaling", "v1", HPA, v1) == before
    assert stored == before


def test_annotations_are_spelled_as_kubernetes_spells_them() -> None:
    stored = autoscaler(metrics=METRICS[:1] + METRICS[2:3], behavior=BEHAVIOR)
    notes = from_storage("autoscaling", "v1", HPA, stored)["metadata"]["annotations"]
    assert notes[NOTE + "metrics"] == (
        '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},'
        '{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"o","targetValue":"5",'
        '"selector":{"matchLabels":{"a":"\\u003cb\\u003e"}}}}]'
    )
    assert notes[NOTE + "behavior"] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max",'
        '"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},'
        '"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Disabled","Policies":null,"Tolerance":null}}'
    )


def test_a_v1_autoscaler_without_target_watches_cpu_at_80_percent() -> None:
    v1 = normal("autoscaling/v1", HPA, spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE})
    assert to_storage("autoscaling", "v1", HPA, v1) == autoscaler(metrics=[cpu(80)])


@pytest.mark.parametrize("text", ["", "{", "3", "[1]"])
def test_a_broken_annotation_counts_as_absent_and_is_dropped(text: str) -> None:
    v1 = normal("autoscaling/v1", HPA, spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE})
    for name in ("metrics", "behavior", "current-metrics", "conditions"):
        v1["metadata"].setdefault("annotations", {})[NOTE + name] = text
    assert to_storage("autoscaling", "v1", HPA, v1) == autoscaler(metrics=[cpu(80)])


def test_a_metric_with_a_broken_quantity_is_dropped() -> None:
    v1 = normal("autoscaling/v1", HPA, spec={"maxReplicas": 3, "scaleTargetRef": REFERENCE})
    text = '[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"?"}}]'
    v1["metadata"]["annotations"] = {NOTE + "metrics": text}
    assert to_storage("autoscaling", "v1", HPA, v1) == autoscaler(metrics=[cpu(80)])


EVENT = {
    "metadata": {"name": "e", "namespace": "n"},
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "Started",
    "message": "hello",
    "source": {"component": "kubelet"},
    "firstTimestamp": "2024-01-01T00:00:00Z",
    "lastTimestamp": "2024-01-01T00:00:00Z",
    "count": 2,
    "type": "Normal",
}


def test_an_event_keeps_all_it_says_under_both_names() -> None:
    stored = normal("v1", "Event", **EVENT)
    new = from_storage("events.k8s.io", "v1", "Event", stored)
    assert new == normal(
        "events.k8s.io/v1",
        "Event",
        metadata=EVENT["metadata"],
        regarding=EVENT["involvedObject"],
        reason="Started",
        note="hello",
        deprecatedSource={"component": "kubelet"},
        deprecatedFirstTimestamp="2024-01-01T00:00:00Z",
        deprecatedLastTimestamp="2024-01-01T00:00:00Z",
        deprecatedCount=2,
        type="Normal",
    )
    assert to_storage("events.k8s.io", "v1", "Event", new) == stored


def test_an_event_of_the_new_kind_is_stored_as_an_old_one() -> None:
    new = normal(
        "events.k8s.io/v1",
        "Event",
        eventTime="2024-01-01T00:00:00.000000Z",
        reportingController="c",
        reportingInstance="i",
        series={"count": 0, "lastObservedTime": "2024-01-01T00:00:00.000000Z"},
    )
    stored = to_storage("events.k8s.io", "v1", "Event", new)
    assert stored["apiVersion"] == "v1"
    assert stored["reportingComponent"] == "c"
    assert stored["series"] == {"lastObservedTime": "2024-01-01T00:00:00.000000Z"}
    assert json.dumps(from_storage("events.k8s.io", "v1", "Event", stored), sort_keys=True) == json.dumps(
        new, sort_keys=True
    )
