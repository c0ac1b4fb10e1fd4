"""What pods are told about themselves."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.downward import (
    DownwardNodeFacts,
    UnknownFieldRef,
    field_value,
    pod_addresses,
    resource_value,
)

NODE = DownwardNodeFacts(
    "n", ("10.0.0.1", "fd00::1"), {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": "110"}
)
POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "labels": {"b": 'quo"te', "a": "1"},
        "annotations": {"Example.com/Key": "line\nbreak"},
    },
    "spec": {
        "nodeName": "n",
        "serviceAccountName": "robot",
        "containers": [
            {
                "name": "main",
                "resources": {
                    "requests": {"cpu": "250m", "memory": "64Mi"},
                    "limits": {"memory": "100M", "hugepages-2Mi": "4Mi"},
                },
            },
            {"name": "bare"},
        ],
        "initContainers": [{"name": "first", "resources": {"limits": {"cpu": "1500m"}}}],
    },
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "u"),
        ("metadata.labels", 'a="1"\nb="quo\\"te"'),
        ("metadata.labels['a']", "1"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations", 'Example.com/Key="line\\nbreak"'),
        ("metadata.annotations['Example.com/Key']", "line\nbreak"),
        ("spec.nodeName", "n"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "10.1.0.5"),
        ("status.podIPs", "10.1.0.5,fd01::5"),
        ("status.hostIP", "10.0.0.1"),
        ("status.hostIPs", "10.0.0.1,fd00::1"),
    ],
)
def test_a_field_is_told(path: str, value: str) -> None:
    assert field_value(POD, path, ("10.1.0.5", "fd01::5"), NODE) == value


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("spec.containers", "unsupported fieldPath: spec.containers"),
        ("spec.nodeName['x']", "fieldPath \"spec.nodeName['x']\" does not support subscript"),
        ("metadata.labels['-']", "invalid key subscript in metadata.labels['-']: "),
    ],
)
def test_what_cannot_be_told_is_a_sentence(path: str, problem: str) -> None:
    with pytest.raises(UnknownFieldRef) as raised:
        field_value(POD, path, (), NODE)
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    ("container", "selector", "value"),
    [
        ("main", {"resource": "requests.cpu"}, "1"),
        ("main", {"resource": "requests.cpu", "divisor": "1m"}, "250"),
        ("main", {"resource": "requests.memory", "divisor": "1Mi"}, "64"),
        ("main", {"resource": "limits.memory"}, "100000000"),
        ("main", {"resource": "limits.memory", "divisor": "1Mi"}, "96"),
        ("main", {"resource": "limits.memory", "divisor": "0"}, "100000000"),
        ("main", {"resource": "limits.hugepages-2Mi", "divisor": "1Mi"}, "4"),
        ("main", {"resource": "limits.cpu"}, "4"),
        ("bare", {"resource": "limits.memory", "divisor": "1Gi"}, "8"),
        ("bare", {"resource": "limits.ephemeral-storage", "divisor": "1Gi"}, "10"),
        ("bare", {"resource": "requests.cpu"}, "0"),
        ("main", {"resource": "limits.cpu", "containerName": "first", "divisor": "1m"}, "1500"),
    ],
)
def test_a_resource_is_told(container: str, selector: dict[str, str], value: str) -> None:
    spec = next(one for one in POD["spec"]["containers"] if one["name"] == container)
    assert resource_value(POD, spec, selector, NODE) == value


def test_the_limit_of_a_whole_pod_counts_before_the_nodes() -> None:
    spec = {**POD["spec"], "resources": {"limits": {"cpu": "2"}}}
    assert resource_value({**POD, "spec": spec}, {"name": "bare"}, {"resource": "limits.cpu"}, NODE) == "2"


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        ({"resource": "limits.pods"}, "unsupported container resource : limits.pods"),
        ({"resource": "limits.cpu", "containerName": "none"}, "container none not found"),
    ],
)
def test_resources_that_are_not_there(selector: dict[str, str], problem: str) -> None:
    with pytest.raises(UnknownFieldRef, match=problem):
        resource_value(POD, None if "containerName" in selector else {"name": "x"}, selector, NODE)


def test_a_pod_on_the_nodes_network_has_the_nodes_addresses() -> None:
    assert pod_addresses({"spec": {"hostNetwork": True}}, (), NODE) == NODE.addresses
    assert pod_addresses({"spec": {}}, ["10.1.0.5"], NODE) == ("10.1.0.5",)
