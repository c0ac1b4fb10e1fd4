"""Binding, ephemeral containers and resize."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.validation.pods.binding import validate_binding
from steersman.cluster.schema.validation.pods.subresources import (
    validate_ephemeral_containers,
    validate_resize,
)

BINDINGS = {
    "a node": ({"kind": "Node", "name": "n"}, []),
    "no name": ({"kind": "Node"}, ["target.name: Required value"]),
    "a pod": (
        {"kind": "Pod", "name": "p"},
        ['target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'],
    ),
}


@pytest.mark.parametrize(("target", "expected"), BINDINGS.values(), ids=BINDINGS)
def test_a_binding_is_judged(target: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in validate_binding({"target": target})] == expected


def test_ephemeral_containers_are_only_added(pod: dict[str, Any], container: dict[str, Any]) -> None:
    pod["spec"]["ephemeralContainers"] = [{**container, "name": "d"}]
    more, fewer, other = deepcopy(pod), deepcopy(pod), deepcopy(pod)
    more["spec"]["ephemeralContainers"].append({**container, "name": "e"})
    fewer["spec"]["ephemeralContainers"] = []
    other["spec"]["ephemeralContainers"][0]["image"] = "busybox"
    path = "spec.ephemeralContainers: Forbidden: existing ephemeral containers"
    assert validate_ephemeral_containers(more, pod) == []
    assert [str(e) for e in validate_ephemeral_containers(fewer, pod)] == [f'{path} "d" may not be removed\n']
    assert [str(e) for e in validate_ephemeral_containers(other, pod)] == [
        f'{path} "d" may not be changed\n@@ -1,6 +1,6 @@\n {{\n  "Name": "d",\n- "Image": "nginx",\n'
        '+ "Image": "busybox",\n  "Command": null,\n  "Args": null,\n  "WorkingDir": "",\n'
    ]


@pytest.fixture
def sized(pod: dict[str, Any]) -> dict[str, Any]:
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
    pod["status"]["qosClass"] = "Burstable"
    return pod


RESIZES = {
    "more cpu": ({"requests": {"cpu": "2", "memory": "1Gi"}}, []),
    "no cpu": (
        {"requests": {"memory": "1Gi"}},
        ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
    ),
    "disk": (
        {"requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}},
        ["spec: Forbidden: only cpu and memory resources are mutable"],
    ),
    "guaranteed": (
        {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
    ),
}


@pytest.mark.parametrize(("resources", "expected"), RESIZES.values(), ids=RESIZES)
def test_a_resize_changes_cpu_and_memory_only(
    sized: dict[str, Any], resources: dict[str, Any], expected: list[str]
) -> None:
    new = deepcopy(sized)
    new["spec"]["containers"][0]["resources"] = resources
    assert [str(error) for error in validate_resize(new, sized)] == expected


def resized(old: dict[str, Any], **spec: Any) -> list[str]:
    new = deepcopy(old)
    new["spec"] |= spec
    return [str(error) for error in validate_resize(new, old)]


def test_a_node_that_reports_no_resources_cannot_resize(sized: dict[str, Any]) -> None:
    refused = ["spec: Forbidden: Pod running on node without support for resize"]
    for state, reports, expected in (
        ({"running": {}}, {"resources": {}}, []),
        ({"running": {}}, {}, refused),
        ({"waiting": {}}, {}, []),
    ):
        sized["status"]["containerStatuses"] = [{"name": "c", "state": state, **reports}]
        assert resized(sized) == expected


def test_the_quality_of_service_is_the_reported_one(sized: dict[str, Any]) -> None:
    sized["status"]["qosClass"] = "BestEffort"
    assert resized(sized) == [
        'spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing'
    ]
    del sized["status"]["qosClass"]
    assert resized(sized) == []


POD_LEVEL: dict[str, tuple[Any, Any, list[str]]] = {
    "more": ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "3"}}, []),
    "new": (None, {"requests": {"cpu": "2"}}, []),
    "gone": (
        {"requests": {"cpu": "2"}},
        None,
        ["spec.resources: Forbidden: pod-level resources cannot be removed"],
    ),
    "fewer": (
        {"requests": {"cpu": "2", "memory": "1Gi"}},
        {"requests": {"cpu": "2"}},
        ["spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"],
    ),
    "huge pages": (
        {"requests": {"cpu": "2"}},
        {"requests": {"cpu": "2", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
        ["spec: Forbidden: only cpu and memory resources are mutable at pod-level"],
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), POD_LEVEL.values(), ids=POD_LEVEL)
def test_resources_of_the_whole_pod_are_resized(
    sized: dict[str, Any], before: Any, after: Any, expected: list[str]
) -> None:
    if before is not None:
        sized["spec"]["resources"] = before
    new = deepcopy(sized)
    new["spec"].pop("resources", None)
    if after is not None:
        new["spec"]["resources"] = after
    assert [str(error) for error in validate_resize(new, sized)] == expected


@pytest.mark.parametrize(
    ("policy", "restarts", "expected"),
    [
        (None, True, 1),
        (None, False, 0),
        ("Always", True, 0),
    ],
    ids=["init container that would restart", "init container", "sidecar"],
)
def test_init_containers_are_resized_without_a_restart(
    sized: dict[str, Any], container: dict[str, Any], policy: str | None, restarts: bool, expected: int
) -> None:
    first = {**container, "name": "i", "resources": {"requests": {"cpu": "1"}}}
    if policy:
        first["restartPolicy"] = policy
    if restarts:
        first["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    sized["spec"]["initContainers"] = [first]
    errors = resized(sized, initContainers=[{**first, "resources": {"requests": {"cpu": "2"}}}])
    text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
    assert [error for error in errors if text in error] == [
        f"spec.initContainers[0]: Forbidden: {text}" for _ in range(expected)
    ]
    assert not any(text in error for error in resized(sized))
