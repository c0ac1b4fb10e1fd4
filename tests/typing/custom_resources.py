"""What a type checker says of custom resources. Lines with `type: ignore` must be errors: an ignore that is
not needed is one itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, assert_type

from steersman.objects.custom import (
    CustomResource,
    Duration,
    Field,
    IntOrString,
    Model,
    ObjectMeta,
    PrinterColumn,
    Quantity,
    Time,
    Versions,
    list_map,
    rule,
)
from steersman.objects.quantities import Quantity as Amount
from steersman.objects.resource_type import ResourceType, Typed


class Port(Model):
    name: str
    number: IntOrString = 80


class Spec(Model, rules=[rule("self.replicas >= 0")], extra="allow"):
    image: str
    replicas: int = Field(1, ge=0)
    ports: Annotated[list[Port], list_map("name")] = Field(default_factory=list)
    memory: Quantity | None = None
    timeout: Duration = timedelta(seconds=5)
    since: Time | None = None


class WebApp(
    CustomResource, group="example.com", version="v1", columns=[PrinterColumn("Image", ".spec.image")]
):
    spec: Spec


class WebAppV2(WebApp, version="v2"):
    pass


def read(obj: dict[str, Any]) -> None:
    app = WebApp.from_object(obj)
    assert_type(app, WebApp)
    assert_type(app.spec.image, str)
    assert_type(app.spec.ports[0].number, int | str)
    assert_type(app.spec.memory, Amount | None)
    assert_type(app.spec.timeout, timedelta)
    assert_type(app.spec.since, datetime | None)
    assert_type(app.metadata, ObjectMeta)
    assert_type(app.name, str)
    assert_type(WebApp.resource_type, ResourceType)
    app.spec.replicas = "3"  # type: ignore[assignment]
    app.spec.replica  # type: ignore[attr-defined]  # noqa: B018


def write() -> dict[str, Any]:
    WebApp(spec=Spec())  # type: ignore[call-arg]
    WebApp(metadata=ObjectMeta(nam="a"), spec=Spec(image="a"))  # type: ignore[call-arg]
    return WebApp(metadata=ObjectMeta(name="a"), spec=Spec(image="a", replicas=2)).to_object()


def is_typed(kind: type[Typed]) -> ResourceType:
    return kind.resource_type


is_typed(WebApp)
is_typed(Port)  # type: ignore[arg-type]

versions = Versions(WebApp, WebAppV2, storage="v2")


@versions.converts(WebApp, WebAppV2)
def up(old: WebApp) -> WebAppV2:
    return WebAppV2(spec=old.spec)


@versions.converts(WebAppV2, WebApp)  # type: ignore[arg-type]
def wrong(old: int) -> WebApp:
    raise NotImplementedError
