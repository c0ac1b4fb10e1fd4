"""Classes that are resources: what their keywords mean, reading and writing objects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, Field

from steersman.objects.custom import (
    CustomResource,
    DefinitionError,
    InvalidObjectError,
    Model,
    ObjectMeta,
    Quantity,
)
from steersman.objects.quantities import Quantity as Amount
from steersman.objects.resource_type import ResourceType, Typed

Object = dict[str, Any]


class Spec(Model):
    image: str
    min_replicas: int = 1
    memory: Quantity = Amount.parse("1Gi")


class Status(BaseModel):
    ready_replicas: int = 0


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Spec
    status: Status = Status()


def web_app(**spec: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "WebApp",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": "1",
            "resourceVersion": "5",
            "generation": 2,
            "creationTimestamp": "2026-01-31T12:00:00Z",
            "labels": {"app": "a"},
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {"image": "nginx", **spec},
    }


def typed(kind: type[Typed]) -> ResourceType:
    return kind.resource_type


def test_a_class_names_its_resource() -> None:
    assert typed(WebApp) == ResourceType("example.com", "v1", "WebApp", "webapps")


def test_keywords_of_the_parent_are_inherited() -> None:
    class WebAppV2(WebApp, version="v2"):
        extra_field: int = 0

    class Global(WebApp, kind="Global", scope="Cluster"):
        pass

    assert WebAppV2.resource_type == ResourceType("example.com", "v2", "WebApp", "webapps")
    assert Global.resource_type == ResourceType("example.com", "v1", "Global", "globals", namespaced=False)


def test_a_class_without_keywords_is_a_base() -> None:
    class Base(CustomResource):
        spec: Spec

    class Real(Base, group="example.com", version="v1"):
        pass

    assert Real.resource_type.plural == "reals"
    with pytest.raises(DefinitionError, match="Base: a custom resource needs group and version"):
        Base.crd()


def test_an_object_survives_the_round_trip() -> None:
    obj = web_app(minReplicas=3, memory="2Gi")
    assert WebApp.from_object(obj).to_object() == obj


def test_what_was_read_has_types() -> None:
    app = WebApp.from_object(web_app(minReplicas=3, memory=1024))
    assert (app.name, app.namespace, app.spec.min_replicas) == ("a", "default", 3)
    assert app.spec.memory == Amount.parse("1024")
    assert app.metadata.creation_timestamp == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert app.metadata.labels == {"app": "a"}
    assert app.status.ready_replicas == 0


def test_reading_leaves_the_object_alone() -> None:
    obj = web_app()
    app = WebApp.from_object(obj)
    app.metadata.labels["new"] = "label"
    app.spec.image = "other"
    assert obj == web_app()


def test_fields_that_a_newer_server_added_are_no_error() -> None:
    obj = web_app(added={"later": True})
    assert WebApp.from_object({**obj, "another": 1}).to_object() == web_app()


def test_a_plain_model_has_the_names_of_python() -> None:
    app = WebApp.from_object(web_app())
    app.status.ready_replicas = 2
    assert app.to_object()["status"] == {"ready_replicas": 2}


def test_a_new_object_says_what_was_set() -> None:
    app = WebApp(metadata=ObjectMeta(name="a"), spec=Spec(image="nginx", min_replicas=2))
    assert app.to_object() == {
        "apiVersion": "example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "a"},
        "spec": {"image": "nginx", "minReplicas": 2},
    }


def test_unknown_fields_at_the_root_are_kept_when_asked() -> None:
    class Open(CustomResource, group="example.com", version="v1", extra="allow"):
        pass

    obj = {"apiVersion": "example.com/v1", "kind": "Open", "metadata": {"name": "a"}, "data": {"k": "v"}}
    assert Open.from_object(obj).to_object() == obj
    assert Open.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }


@pytest.mark.parametrize(
    "obj, message",
    [
        (
            {**web_app(), "spec": {"minReplicas": "many"}},
            "WebApp default/a: spec.image: Field required; spec.minReplicas: Input should be a valid integer, "
            "unable to parse string as an integer",
        ),
        ({"metadata": None}, "WebApp without a name: metadata: .*"),
        (
            {**web_app(), "kind": "Other"},
            "WebApp is example.com/v1 WebApp, the object is example.com/v1 Other",
        ),
        (
            {**web_app(), "apiVersion": "example.com/v2"},
            "WebApp is example.com/v1 WebApp, the object is example.com/v2 WebApp",
        ),
        (web_app(memory="1 Gi"), "WebApp default/a: spec.memory: .*quantities must match.*"),
        (web_app(memory=True), "WebApp default/a: spec.memory: .*a quantity is a text or a number"),
    ],
    ids=["fields", "metadata", "kind", "version", "quantity", "no quantity"],
)
def test_an_object_that_does_not_fit_is_named(obj: Object, message: str) -> None:
    with pytest.raises(InvalidObjectError, match=f"^{message}$"):
        WebApp.from_object(obj)


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"grup": "example.com"}, 'Thing: there is no class keyword "grup"'),
        ({"group": "example.com"}, "Thing: a custom resource needs version as class keywords"),
        ({"scope": "Cluster"}, "Thing: a custom resource needs group and version as class keywords"),
        (
            {"group": "example", "version": "v1"},
            'Thing: group "example" must be a domain with at least one dot',
        ),
        ({"group": "Example.com", "version": "v1"}, 'Thing: group "Example.com": a lowercase RFC 1123'),
        ({"group": "example.com", "version": "1"}, 'Thing: version "1": a DNS-1035 label'),
        ({"group": "example.com", "version": "v1", "kind": "My_Kind"}, 'Thing: kind "my_kind": a DNS-1035'),
        ({"group": "example.com", "version": "v1", "plural": "Things"}, 'Thing: plural "Things": a DNS-1035'),
        (
            {"group": "example.com", "version": "v1", "short_names": ["T"]},
            'Thing: short name "T": a DNS-1035',
        ),
        ({"group": "example.com", "version": "v1", "short_names": "t"}, "Thing: short_names is a list"),
        (
            {"group": "example.com", "version": "v1", "scope": "Global"},
            'Thing: scope is "Namespaced" or "Clus',
        ),
    ],
)
def test_keywords_that_cannot_be_are_refused_at_once(keywords: Object, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        type(CustomResource)("Thing", (CustomResource,), {"__module__": __name__}, **keywords)
    assert str(caught.value).startswith(message)


def test_a_status_needs_a_default() -> None:
    with pytest.raises(DefinitionError, match=r"^Thing\.status: a status needs a default"):

        class Thing(CustomResource, group="example.com", version="v1"):
            status: Status


class Detailed(Model):
    phase: str = "new"
    parts: list[str] = Field(default_factory=list)
    inner: Spec | None = None
    _note: str = "own"


class Noted(CustomResource, group="example.com", version="v1"):
    status: Detailed = Detailed(parts=["a"], inner=Spec(image="x"))


def test_a_default_status_is_shared_by_no_two_objects() -> None:
    first, second = (Noted.from_object({"metadata": {"name": name}}) for name in "ab")
    assert first.status == second.status
    first.status.phase = "changed"
    first.status.parts.append("b")
    assert first.status.inner is not None
    first.status.inner.image = "y"
    assert second.status == Detailed(parts=["a"], inner=Spec(image="x"))
    assert first.status.model_fields_set == {"parts", "inner", "phase"}
    assert second.status._note == "own"
