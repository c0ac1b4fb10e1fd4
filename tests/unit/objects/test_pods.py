"""What pods are made of."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.pods import (
    configmap_names,
    container_totals,
    containers_of,
    environment_sources,
    has_own_resources,
    is_pod_level,
    quality_of_service,
    secret_names,
)

Object = dict[str, Any]


def container(requests: Object | None = None, limits: Object | None = None, **more: Any) -> Object:
    resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v}
    return {"name": "c", "image": "i", "resources": resources} | more


def sidecar(cpu: str) -> Object:
    return container({"cpu": cpu}, restartPolicy="Always")


def test_containers_come_in_the_order_of_their_start() -> None:
    spec = {field: [{"name": field}] for field in ("containers", "ephemeralContainers", "initContainers")}
    assert [each["name"] for each in containers_of(spec)] == [
        "initContainers",
        "containers",
        "ephemeralContainers",
    ]
    assert containers_of({}) == []


@pytest.mark.parametrize(
    ("init", "main", "expected"),
    [
        ([], [container({"cpu": "1"}), container({"cpu": "500m"})], "1500m"),
        ([container({"cpu": "2"})], [container({"cpu": "1"})], "2"),
        ([container({"cpu": "2"}), container({"cpu": "3"})], [container({"cpu": "1"})], "3"),
        ([sidecar("1")], [container({"cpu": "1"})], "2"),
        ([sidecar("1"), container({"cpu": "3"})], [container({"cpu": "1"})], "4"),
        ([container({"cpu": "3"}), sidecar("1")], [container({"cpu": "1"})], "3"),
        ([sidecar("1"), sidecar("2")], [container({"cpu": "1"})], "4"),
        ([sidecar("3"), container({"cpu": "1"})], [container({"cpu": "1"})], "4"),
    ],
    ids=[
        "sum",
        "init",
        "largest init",
        "sidecar",
        "init after sidecar",
        "init before sidecar",
        "sidecars",
        "all together",
    ],
)
def test_containers_add_up_and_the_largest_moment_counts(
    init: list[Object], main: list[Object], expected: str
) -> None:
    spec = {"containers": main, "initContainers": init}
    totals = container_totals(spec, lambda each: each["resources"].get("requests"))
    assert {name: str(amount) for name, amount in totals.items()} == {"cpu": expected}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("cpu", True),
        ("memory", True),
        ("hugepages-2Mi", True),
        ("ephemeral-storage", False),
        ("a/gpu", False),
    ],
)
def test_what_a_pod_may_ask_for_as_a_whole(resource: str, expected: bool) -> None:
    assert is_pod_level(resource) is expected
    assert has_own_resources({"resources": {"limits": {resource: "1"}}}) is expected
    assert has_own_resources({"resources": {"requests": {resource: "1"}}}) is expected
    assert not has_own_resources({})


@pytest.mark.parametrize(
    ("containers", "qos"),
    [
        ([container()], "BestEffort"),
        ([container({"cpu": "1"})], "Burstable"),
        ([container({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "1"})], "Guaranteed"),
        ([container({"cpu": "1000m", "memory": "1Ki"}, {"cpu": "1", "memory": "1024"})], "Guaranteed"),
        ([container({"cpu": "1"}, {"cpu": "1"})], "Burstable"),
        ([container({"cpu": "1", "memory": "1"}, {"cpu": "2", "memory": "1"})], "Burstable"),
        ([container({"memory": "1"}, {"cpu": "1", "memory": "1"})], "Burstable"),
        ([], "BestEffort"),
        ([container({"example.com/gpu": "1"}, {"example.com/gpu": "1"})], "BestEffort"),
        ([container({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "1"}), container()], "Burstable"),
    ],
)
def test_quality_of_service_follows_requests_and_limits(containers: list[Object], qos: str) -> None:
    assert quality_of_service({"containers": containers}) == qos


def test_resources_of_the_pod_itself_decide_its_quality_of_service() -> None:
    resources = {"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}
    assert quality_of_service({"containers": [container()], "resources": resources}) == "Guaranteed"


USING: Object = {
    "imagePullSecrets": [{"name": "pull"}, {}],
    "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "all"}}, {"configMapRef": {"name": "m"}}]}],
    "containers": [
        {
            "name": "c",
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "key", "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "n", "key": "k"}}},
                {"name": "C", "value": "x"},
            ],
        }
    ],
    "volumes": [
        {"name": "a", "secret": {"secretName": "volume"}},
        {"name": "b", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi"}}},
        {"name": "c", "azureFile": {"secretName": "azure", "shareName": "s"}},
        {"name": "d", "cephfs": {"secretRef": {"name": "ceph"}}},
        {"name": "e", "configMap": {"name": "o"}},
        {"name": "f", "projected": {"sources": [{"secret": {"name": "part"}}, {"configMap": {"name": "p"}}, {}]}},
        {"name": "g", "emptyDir": {}},
    ],
}  # fmt: skip


def test_secrets_and_config_maps_are_found_wherever_they_are_mentioned() -> None:
    assert [*secret_names(USING)] == ["pull", "all", "key", "volume", "csi", "azure", "ceph", "part"]
    assert [*configmap_names(USING)] == ["m", "n", "o", "p"]
    assert [*secret_names({})] == [*configmap_names({})] == []


def test_variables_tell_where_they_come_from() -> None:
    (container,) = USING["containers"]
    assert [*environment_sources(container, "secret")] == [("A", "key")]
    assert [*environment_sources(USING["initContainers"][0], "configMap")] == [("", "m")]
