"""Horizontal pod autoscalers."""

from __future__ import annotations

from typing import Any

import pytest

KIND = ("autoscaling", "HorizontalPodAutoscaler")
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
BASE: dict[str, Any] = {
    "metadata": {"name": "h", "namespace": "n", "resourceVersion": "1"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": [CPU],
    },
    "status": {},
}
TYPES = '"ContainerResource", "External", "Object", "Pods", "Resource"'
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}},
}


INGRESS = {
    "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "i"},
    "metric": {"name": "m"},
    "target": {"type": "Value", "value": "1"},
}
ODD = {**INGRESS, "describedObject": {"apiVersion": "a/b/c", "kind": "Widget", "name": "n"}}


def metric(**fields: Any) -> dict[str, Any]:
    return {"spec": {"metrics": [fields]}}


def scaling(**rules: Any) -> dict[str, Any]:
    policy = {"type": "Pods", "value": 1, "periodSeconds": 60}
    return {"spec": {"behavior": {"scaleUp": {"policies": [policy], **rules}}}}


CASES: dict[str, tuple[Any, list[str]]] = {
    "valid": ({}, []),
    "no upper bound": (
        {"spec": {"maxReplicas": None}},
        [
            "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            "spec.maxReplicas: Required value",
        ],
    ),
    "negative bounds": (
        {"spec": {"minReplicas": -2, "maxReplicas": -1}},
        [
            "spec.minReplicas: Invalid value: -2: must be greater than or equal to 0",
            "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
        ],
    ),
    "zero without outside metrics": (
        {"spec": {"minReplicas": 0}},
        [
            "spec.metrics: Forbidden: "
            "must specify at least one Object or External metric to support scaling to zero replicas"
        ],
    ),
    "zero with outside metrics": ({"spec": {"minReplicas": 0, "metrics": [EXTERNAL]}}, []),
    "no target": (
        {"spec": {"scaleTargetRef": {"apiVersion": "v1", "kind": None, "name": "a/b"}}},
        [
            "spec.scaleTargetRef.kind: Required value",
            "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
            'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
        ],
    ),
    "core target": ({"spec": {"scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController"}}}, []),
    "metric of no type": (
        metric(),
        [
            "spec.metrics[0].type: Required value: must specify a metric source type",
            f'spec.metrics[0].type: Unsupported value: "": supported values: {TYPES}',
            f'spec.metrics[0].type: Unsupported value: "": supported values: {TYPES}',
        ],
    ),
    "source missing": (
        metric(type="Pods"),
        ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
    ),
    "two sources": (
        metric(**CPU, external=EXTERNAL["external"]),
        ["spec.metrics[0].external: Forbidden: must populate the given metric source only"],
    ),
    "both targets": (
        metric(
            type="Resource",
            resource={
                "name": "cpu",
                "target": {"type": "Wrong", "averageUtilization": 0, "averageValue": "-1"},
            },
        ),
        [
            'spec.metrics[0].resource.target.type: Invalid value: "Wrong": '
            "must be either Utilization, Value, or AverageValue",
            'spec.metrics[0].resource.target.averageValue: Invalid value: "-1": must be positive',
            "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
            "spec.metrics[0].resource.target.averageValue: Forbidden: "
            "may not set both a target raw value and a target utilization",
        ],
    ),
    "empty container resource": (
        metric(type="ContainerResource", containerResource={"target": {"type": "Utilization"}}),
        [
            "spec.metrics[0].containerResource.name: Required value: must specify a resource name",
            "spec.metrics[0].containerResource.container: Required value: must specify a container",
            "spec.metrics[0].containerResource.target.averageUtilization: Required value: "
            "must set either a target raw value or a target utilization",
        ],
    ),
    "empty object": (
        metric(
            type="Object", object={"describedObject": {"kind": "K", "name": "n"}, "target": {"type": "Value"}}
        ),
        [
            "spec.metrics[0].object.metric.name: Required value: must specify a metric name",
            "spec.metrics[0].object.target.averageValue: Required value: "
            "must set either a target value or averageValue",
        ],
    ),
    "object of a malformed version": (
        metric(type="Object", object=ODD),
        [
            'spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion '
            "string: a/b/c"
        ],
    ),
    "object": (metric(type="Object", object=INGRESS), []),
    "external": (metric(**EXTERNAL), []),
    "external without target": (
        metric(type="External", external={"metric": {"name": "m"}, "target": {"type": "Value"}}),
        [
            "spec.metrics[0].external.target.averageValue: Required value: "
            "must set either a target value for metric or a per-pod target"
        ],
    ),
    "external with both targets": (
        metric(
            type="External",
            external={
                "metric": {"name": "m"},
                "target": {"type": "Value", "value": "1", "averageValue": "1"},
            },
        ),
        [
            "spec.metrics[0].external.target.value: Forbidden: "
            "may not set both a target value for metric and a per-pod target"
        ],
    ),
    "pods": (
        metric(
            type="Pods",
            pods={"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}},
        ),
        [],
    ),
    "pods without target": (
        metric(type="Pods", pods={"metric": {"name": "m"}, "target": {"type": "AverageValue"}}),
        [
            "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue"
        ],
    ),
    "behavior": (
        scaling(stabilizationWindowSeconds=3601, selectPolicy="Most", policies=[], tolerance="-1"),
        [
            "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: "
            "must be less than or equal to 3600",
            'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Most": '
            'supported values: "Disabled", "Max", "Min"',
            "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
            'spec.behavior.scaleUp.tolerance: Invalid value: "-1": must be greater than or equal to 0',
        ],
    ),
    "policy": (
        scaling(policies=[{"type": "Half", "periodSeconds": 1801}]),
        [
            'spec.behavior.scaleUp.policies[0].type: Unsupported value: "Half": supported values: '
            '"Percent", "Pods"',
            "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
            "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: "
            "must be less than or equal to 1800",
        ],
    ),
}


@pytest.mark.parametrize(("patch", "expected"), CASES.values(), ids=CASES)
def test_an_autoscaler_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(*KIND, BASE, patch) == expected


def test_an_update_is_not_asked_again_about_a_target_it_does_not_change(updated: Any) -> None:
    old = {**BASE, "spec": {**BASE["spec"], "scaleTargetRef": {"kind": "Widget", "name": "w"}}}
    assert updated(*KIND, old, {"spec": {"maxReplicas": 4}}) == []
    assert updated(*KIND, old, {"spec": {"scaleTargetRef": {"kind": "Other"}}}) == [
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group'
    ]


def test_an_old_object_of_a_malformed_version_may_stay(updated: Any) -> None:
    odd = {"type": "Object", "object": ODD}
    old = {**BASE, "spec": {**BASE["spec"], "metrics": [odd]}}
    assert updated(*KIND, old, {"spec": {"maxReplicas": 4}}) == []
    # A metric of another type says nothing about objects.
    hidden = {**BASE, "spec": {**BASE["spec"], "metrics": [{**CPU, "object": ODD}]}}
    (error,) = updated(*KIND, hidden, {"spec": {"metrics": [odd]}})
    assert "unexpected GroupVersion" in error


def test_a_negative_bound_may_stay(updated: Any) -> None:
    old = {**BASE, "spec": {**BASE["spec"], "minReplicas": -2, "maxReplicas": -1}}
    assert updated(*KIND, old, {"metadata": {"labels": {"a": "b"}}}) == []
    assert updated(*KIND, old, {"spec": {"minReplicas": -3}}) == [
        "spec.minReplicas: Invalid value: -3: must be greater than or equal to 0"
    ]


def test_status_counts_are_not_negative(reported: Any) -> None:
    assert reported(*KIND, BASE, {"status": {"currentReplicas": -1}}) == [
        "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0"
    ]
