"""What a pod needs as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.pod_totals import charged_totals, spec_totals

from .conftest import Object


def container(name: str, cpu: str = "", limit: str = "", **rest: Any) -> Object:
    resources: Object = {}
    if cpu:
        resources["requests"] = {"cpu": cpu}
    if limit:
        resources["limits"] = {"cpu": limit}
    return {"name": name, "resources": resources, **rest}


def texts(amounts: dict[str, Any]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def sidecar(name: str, cpu: str) -> Object:
    return container(name, cpu, restartPolicy="Always")


@pytest.mark.parametrize(
    ("init", "main", "expected"),
    [
        ([], [container("a", "1"), container("b", "500m")], "1500m"),
        ([container("i", "2")], [container("a", "1")], "2"),
        ([container("i", "2"), container("j", "3")], [container("a", "1"), container("b", "1")], "3"),
        ([sidecar("s", "1")], [container("a", "1")], "2"),
        ([sidecar("s", "1"), container("i", "3")], [container("a", "1")], "4"),
        ([container("i", "3"), sidecar("s", "1")], [container("a", "1")], "3"),
        ([sidecar("s", "1"), sidecar("t", "2")], [container("a", "1")], "4"),
    ],
    ids=["sum", "init", "largest init", "sidecar", "init after sidecar", "init before sidecar", "sidecars"],
)
def test_containers_add_up_and_the_largest_moment_counts(
    init: list[Object], main: list[Object], expected: str
) -> None:
    spec = {"containers": main, "initContainers": init}
    assert texts(spec_totals(spec, "requests")) == {"cpu": expected}
    assert texts(charged_totals({"spec": spec}, "requests")) == {"cpu": expected}


def test_the_pods_own_resources_replace_its_containers() -> None:
    own = {"requests": {"cpu": "3", "hugepages-2Mi": "4Mi", "example.com/x": "1"}}
    spec = {"containers": [container("a", "1")], "resources": own}
    assert texts(spec_totals(spec, "requests")) == {"cpu": "3"}
    assert texts(charged_totals({"spec": spec}, "requests")) == {"cpu": "3", "hugepages-2Mi": "4Mi"}


def test_overhead_is_charged_but_limits_nothing_that_has_no_limit() -> None:
    spec = {"containers": [container("a", "1")], "overhead": {"cpu": "250m", "memory": "1Mi"}}
    assert texts(charged_totals({"spec": spec}, "requests")) == {"cpu": "1250m", "memory": "1Mi"}
    assert charged_totals({"spec": spec}, "limits") == {}
    spec["containers"] = [container("a", "1", "2")]
    assert texts(charged_totals({"spec": spec}, "limits")) == {"cpu": "2250m"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "1"),
        ({"allocatedResources": {"cpu": "2"}}, "2"),
        ({"allocatedResources": {"cpu": "500m"}, "resources": {"requests": {"cpu": "3"}}}, "3"),
        ({"allocatedResources": {"cpu": "500m"}, "resources": {"requests": {"cpu": "500m"}}}, "1"),
    ],
    ids=["nothing granted", "more set aside", "more in force", "less granted"],
)
def test_the_larger_of_asked_and_granted_is_charged(status: Object, expected: str) -> None:
    pod = {
        "spec": {"containers": [container("a", "1")]},
        "status": {"containerStatuses": [{"name": "a", **status}]},
    }
    assert texts(charged_totals(pod, "requests")) == {"cpu": expected}


def test_a_resize_that_cannot_be_is_not_charged() -> None:
    pod = {
        "spec": {"containers": [container("a", "8")]},
        "status": {
            "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            "containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "1"}}],
        },
    }
    assert texts(charged_totals(pod, "requests")) == {"cpu": "1"}


@pytest.mark.parametrize(
    "condition",
    [{"type": "PodResizePending", "reason": "Deferred"}, {"type": "Ready", "reason": "Infeasible"}],
    ids=str,
)
def test_a_resize_that_may_come_is_charged(condition: Object) -> None:
    pod = {
        "spec": {"containers": [container("a", "8")]},
        "status": {
            "conditions": [condition],
            "containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "1"}}],
        },
    }
    assert texts(charged_totals(pod, "requests")) == {"cpu": "8"}


@pytest.mark.parametrize(("infeasible", "expected"), [(False, "4"), (True, "3")])
def test_of_containers_without_status_what_they_ask_for_counts(infeasible: bool, expected: str) -> None:
    condition = {"type": "PodResizePending", "reason": "Infeasible"}
    pod = {
        "spec": {"containers": [container("a", "1"), container("b", "1")]},
        "status": {
            "conditions": [condition] if infeasible else [],
            "containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "3"}}],
        },
    }
    assert texts(charged_totals(pod, "requests")) == {"cpu": expected}


def test_what_is_set_aside_limits_nothing() -> None:
    pod = {
        "spec": {"containers": [container("a", "1", "2")]},
        "status": {"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "9"}}]},
    }
    assert texts(charged_totals(pod, "limits")) == {"cpu": "2"}


def test_what_is_set_aside_counts_beside_what_others_ask_for() -> None:
    granted = {"name": "a", "allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "1"}}}
    pod = {
        "spec": {"containers": [container("a", "1"), container("b", "1")]},
        "status": {"containerStatuses": [granted, {"name": "b"}]},
    }
    assert texts(charged_totals(pod, "requests")) == {"cpu": "4"}
