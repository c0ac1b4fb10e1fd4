"""ReplicationControllers and PodTemplates."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest


@pytest.fixture
def controller(pod: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": deepcopy(pod["spec"])}
    return {
        "metadata": {"name": "rc", "namespace": "ns", "resourceVersion": "1"},
        "spec": {"replicas": 1, "selector": {"a": "b"}, "template": template},
        "status": {"replicas": 0},
    }


CONTROLLERS = {
    "valid": ({}, []),
    "replicas come last": (
        {"spec": {"replicas": -1, "selector": {"a": "c"}}},
        [
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template '
            "`labels`",
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "a prefix no URL can carry": (
        {"metadata": {"generateName": "a/"}},
        ["metadata.generateName: Invalid value: \"a/\": may not contain '/'"],
    ),
    "a long name": (
        {"metadata": {"name": "a" * 254}},
        [f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 bytes'],
    ),
    "no template": ({"spec": {"template": None}}, ["spec.template: Required value"]),
    "no selector": ({"spec": {"selector": None}}, ["spec.selector: Required value"]),
    "ending pods": (
        {"spec": {"template": {"spec": {"restartPolicy": "Never", "activeDeadlineSeconds": 5}}}},
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
            "spec.template.spec.activeDeadlineSeconds: Forbidden: "
            "activeDeadlineSeconds in ReplicationController is not Supported",
        ],
    ),
}


@pytest.mark.parametrize(("patch", "expected"), CONTROLLERS.values(), ids=CONTROLLERS)
def test_a_controller_is_judged(
    created: Any, controller: dict[str, Any], patch: dict[str, Any], expected: list[str]
) -> None:
    assert created("", "ReplicationController", controller, patch) == expected


def test_a_controller_s_counts_agree(reported: Any, controller: dict[str, Any]) -> None:
    status = {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3}
    assert reported("", "ReplicationController", controller, {"status": status}) == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
    ]


def test_a_template_is_judged_on_update_too(updated: Any, controller: dict[str, Any]) -> None:
    obj = {"metadata": controller["metadata"], "template": controller["spec"]["template"]}
    assert updated("", "PodTemplate", obj, {"template": {"spec": {"containers": []}}}) == [
        "template.spec.containers: Required value"
    ]


def test_a_controller_that_was_stored_wrong_may_stay(updated: Any, controller: dict[str, Any]) -> None:
    wrong = ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]
    assert updated("", "ReplicationController", controller, {"spec": {"replicas": -1}}) == wrong
    controller["spec"]["replicas"] = -1
    controller["metadata"]["name"] = "R_"
    assert updated("", "ReplicationController", controller, {"spec": {"minReadySeconds": 1}}) == []
