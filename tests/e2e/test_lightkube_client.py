"""lightkube: typed resources, its way of paging, watching, patching and waiting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod
from lightkube.types import CascadeType, PatchType

from tests.support.manifests import deployment, pod
from tests.support.steer import Steer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def light(server: Steer) -> Iterator[Client]:
    with Client(config=KubeConfig.from_file(server.kubeconfig)) as light:
        yield light


def config_map(namespace: str, name: str, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), data=data)


def test_an_object_is_made_read_replaced_and_deleted(light: Any, namespace: str) -> None:
    made = light.create(config_map(namespace, "cm", a="1"))
    assert light.get(ConfigMap, "cm", namespace=namespace) == made
    made.data["b"] = "2"
    assert light.replace(made).data == {"a": "1", "b": "2"}
    light.delete(ConfigMap, "cm", namespace=namespace)
    with pytest.raises(ApiError) as refused:
        light.get(ConfigMap, "cm", namespace=namespace)
    assert (refused.value.status.code, refused.value.status.reason) == (404, "NotFound")
    assert refused.value.status.message == 'configmaps "cm" not found'


@pytest.mark.parametrize(
    ("kind", "patch", "expected"),
    [
        (PatchType.STRATEGIC, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
        (PatchType.MERGE, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
        (PatchType.JSON, [{"op": "copy", "from": "/data/a", "path": "/data/b"}], {"a": "1", "b": "1"}),
    ],
    ids=["strategic", "merge", "json"],
)
def test_patch(light: Any, namespace: str, kind: PatchType, patch: Any, expected: dict[str, str]) -> None:
    light.create(config_map(namespace, "cm", a="1"))
    assert light.patch(ConfigMap, "cm", patch, patch_type=kind, namespace=namespace).data == expected


def test_lists_are_paged_and_selected(light: Any, namespace: str) -> None:
    for number in range(5):
        light.create(config_map(namespace, f"cm-{number}", {"even": str(number % 2 == 0).lower()}))
    paged = light.list(ConfigMap, namespace=namespace, chunk_size=2)
    assert [item.metadata.name for item in paged] == [f"cm-{number}" for number in range(5)]
    even = light.list(ConfigMap, namespace=namespace, labels={"even": "true"})
    assert [item.metadata.name for item in even] == ["cm-0", "cm-2", "cm-4"]
    others = light.list(ConfigMap, namespace=namespace, fields={"metadata.name": "cm-3"})
    assert [item.metadata.name for item in others] == ["cm-3"]
    assert namespace in [item.metadata.name for item in light.list(Namespace)]


def test_watch(light: Any, namespace: str) -> None:
    first = light.create(config_map(namespace, "a"))
    light.create(config_map(namespace, "b"))
    light.delete(ConfigMap, "a", namespace=namespace)
    events = light.watch(ConfigMap, namespace=namespace, resource_version=first.metadata.resourceVersion)
    assert [(kind, item.metadata.name) for kind, item in (next(events), next(events))] == [
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]


def test_status_and_scale(light: Any, namespace: str) -> None:
    made = light.create(Deployment.from_dict(deployment("web")), namespace=namespace)
    assert made.spec.replicas == 1
    made.status.replicas = 1
    assert light.replace(made, namespace=namespace).status.replicas is None, "not through the object itself"
    status = light.get(Deployment.Status, "web", namespace=namespace)
    status.status.replicas = 1
    assert light.replace(status, namespace=namespace).status.replicas == 1
    scale = light.get(Deployment.Scale, "web", namespace=namespace)
    scale.spec = ScaleSpec(replicas=3)
    light.replace(scale, "web", namespace=namespace)
    assert light.get(Deployment, "web", namespace=namespace).spec.replicas == 3


def test_wait_for_a_condition(light: Any, namespace: str) -> None:
    light.create(Deployment.from_dict(deployment("web")), namespace=namespace)
    condition = {"type": "Available", "status": "True", "reason": "x", "message": ""}
    light.patch(Deployment.Status, "web", {"status": {"conditions": [condition]}}, namespace=namespace)
    done = light.wait(Deployment, "web", for_conditions=["Available"], namespace=namespace)
    assert done.status.conditions[0].type == "Available"


def test_delete_options(light: Any, namespace: str) -> None:
    light.create(Deployment.from_dict(deployment("web")), namespace=namespace)
    light.delete(Deployment, "web", namespace=namespace, cascade=CascadeType.ORPHAN)
    assert light.get(Deployment, "web", namespace=namespace).metadata.finalizers == ["orphan"]
    light.create(Pod.from_dict(pod("p", nodeName="n")), namespace=namespace)
    light.delete(Pod, "p", namespace=namespace, grace_period=4)
    assert light.get(Pod, "p", namespace=namespace).metadata.deletionGracePeriodSeconds == 4
    light.create(config_map(namespace, "cm"))
    light.deletecollection(ConfigMap, namespace=namespace)
    assert list(light.list(ConfigMap, namespace=namespace)) == []


@pytest.mark.parametrize(
    ("name", "labels", "code", "reason"),
    [("cm", None, 409, "AlreadyExists"), ("No", None, 422, "Invalid"), ("x", {"a": "-"}, 422, "Invalid")],
    ids=["already exists", "bad name", "bad label"],
)
def test_errors(
    light: Any, namespace: str, name: str, labels: dict[str, str] | None, code: int, reason: str
) -> None:
    light.create(config_map(namespace, "cm"))
    with pytest.raises(ApiError) as refused:
        light.create(config_map(namespace, name, labels))
    status: Any = refused.value.status
    assert (status.code, status.reason, status.details.name) == (code, reason, name)
    if code == 422:
        assert status.details.causes[0].field == ("metadata.labels" if labels else "metadata.name")
