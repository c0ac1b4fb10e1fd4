"""lightkube applies on the server: built-in and custom resources, managers, conflicts and force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from tests.support.manifests import deployment
from tests.support.steer import Steer

from .widgets import definition, widget

pytestmark = pytest.mark.slow

GROUP = "light.example.com"


@pytest.fixture(scope="module")
def light(server: Steer) -> Iterator[Any]:
    with Client(config=KubeConfig.from_file(server.kubeconfig), field_manager="one") as light:
        yield light


@pytest.fixture(scope="module")
def widgets(light: Any) -> Iterator[Any]:
    light.apply(CustomResourceDefinition.from_dict(definition(GROUP)))
    name = f"widgets.{GROUP}"
    light.wait(CustomResourceDefinition, name, for_conditions=["Established"])
    yield create_namespaced_resource(GROUP, "v1", "Widget", "widgets")
    light.delete(CustomResourceDefinition, name)


def fields(found: Any) -> dict[str, Any]:
    return {entry.manager: entry.fieldsV1 for entry in found.metadata.managedFields}


def test_built_in(light: Any, namespace: str) -> None:
    def cm(**data: str) -> ConfigMap:
        return ConfigMap(metadata=ObjectMeta(name="cm", namespace=namespace), data=data)

    light.apply(cm(a="1", b="1"))
    light.apply(cm(c="1"), field_manager="two")
    changed = light.apply(cm(a="2"))
    assert changed.data == {"a": "2", "c": "1"}
    with pytest.raises(ApiError) as refused:
        light.apply(cm(a="3"), field_manager="two")
    status: Any = refused.value.status
    assert (status.code, status.details.causes[0].field) == (409, ".data.a")
    taken = light.apply(cm(a="3"), field_manager="two", force=True)
    assert taken.data == {"a": "3"}, "c is no longer wanted by the only one who wanted it"
    assert list(fields(taken)) == ["two"]


def test_deployment_and_its_status(light: Any, namespace: str) -> None:
    web = Deployment.from_dict(deployment("web"))
    assert light.apply(web, namespace=namespace).spec.strategy.type == "RollingUpdate"
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 1}}
    options = {"patch_type": PatchType.APPLY, "field_manager": "controller", "force": True}
    light.patch(Deployment.Status, "web", status, namespace=namespace, **options)
    found = light.get(Deployment, "web", namespace=namespace)
    assert (found.status.replicas, found.metadata.generation) == (1, 1)
    assert fields(found)["controller"] == {"f:status": {"f:replicas": {}}}


def test_custom(light: Any, widgets: Any, namespace: str) -> None:
    def want(size: int, **spec: Any) -> Any:
        return widgets.from_dict(widget(GROUP, "w", size, **spec))

    made = light.apply(want(3), namespace=namespace)
    assert made.spec == {"size": 3, "color": "blue"}
    with pytest.raises(ApiError) as refused:
        light.apply(want(4), namespace=namespace, field_manager="two")
    status: Any = refused.value.status
    assert (status.code, status.reason, status.details.causes[0].field) == (409, "Conflict", ".spec.size")
    port = {"name": "web", "port": 80}
    taken = light.apply(want(4, ports=[port]), namespace=namespace, field_manager="two", force=True)
    assert taken.spec == {"size": 4, "color": "blue", "ports": [port]}
    keys: dict[str, Any] = {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:port": {}}}
    assert fields(taken)["two"] == {"f:spec": {"f:size": {}, "f:ports": keys}}
    with pytest.raises(ApiError) as invalid:
        light.apply(want(0), namespace=namespace, force=True)
    assert invalid.value.status.code == 422
