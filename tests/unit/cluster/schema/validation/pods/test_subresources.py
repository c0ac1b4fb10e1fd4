"""Binding, ephemeral containers and resize."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.schema.validation.pods.binding import validate_binding
from steersman.cluster.schema.validation.pods.subresources import (
    pod_qos,
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


QUALITIES = {
    "BestEffort": {},
    "Burstable": {"requests": {"cpu": "1"}},
    "Guaranteed": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
}


@pytest.mark.parametrize("quality", QUALITIES)
def test_resources_earn_a_quality_of_service(quality: str) -> None:
    assert pod_qos({"containers": [{"name": "c", "resources": QUALITIES[quality]}]}) == quality
