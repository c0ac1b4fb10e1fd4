"""Every definition that a class makes is taken by the API server as it is, and both judge objects alike."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from steersman.objects.custom import CustomResource, InvalidObjectError, ObjectMeta
from tests.integration.custom.gallery import EXHIBITS, Exhibit, Policy, Ruled, RuledSpec, WebApp, WebAppSpec
from tests.support.api import PATIENCE_S, ApiClient, api, with_api

Object = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def define(client: ApiClient, definition: Object) -> Object:
    """Create a definition, which must earn no warning, and wait until it is served."""
    answer = await client.raw("POST", DEFINITIONS, definition)
    assert answer.status == 201, answer.content
    assert answer.headers.get_all("warning") == []
    selector = f"fieldSelector=metadata.name%3D{definition['metadata']['name']}"
    async with asyncio.timeout(PATIENCE_S), client.watch(f"{DEFINITIONS}?watch=true&{selector}") as events:
        while True:
            found: Object = (await events.next())["object"]
            if any(
                each["type"] == "Established" and each["status"] == "True"
                for each in found["status"].get("conditions") or ()
            ):
                return found


def path_of(resource: type[CustomResource], name: str = "", subresource: str = "") -> str:
    return resource.resource_type.path("default", name, subresource)


def everything(spec: BaseModel) -> Object:
    """A spec with all its defaults, as they should be on the server."""
    return spec.model_dump(mode="json", by_alias=True)


def without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.resource.__name__)
def test_server_and_class_agree(exhibit: Exhibit) -> None:
    async def body() -> None:
        async with api() as client:
            sent = exhibit.resource.crd()
            defined = await define(client, sent)
            assert defined["spec"]["versions"] == sent["spec"]["versions"], (
                "the server dropped or changed something"
            )
            for index, spec in enumerate(exhibit.accepted):
                await round_trip(client, exhibit, f"r{index}", spec)
            for spec, text in exhibit.refused:
                await refusal(client, exhibit, spec, text)

    asyncio.run(body())


async def round_trip(client: ApiClient, exhibit: Exhibit, name: str, spec: BaseModel) -> None:
    resource = exhibit.resource
    obj = resource.model_validate({"metadata": ObjectMeta(name=name), "spec": spec})
    created = await client.ok("POST", f"{path_of(resource)}?fieldValidation=Strict", obj.to_object())
    back = resource.from_object(created)
    assert everything(back.spec) == everything(spec)  # type: ignore[attr-defined]
    if not exhibit.hidden_defaults:
        assert without_none(created["spec"]) == without_none(everything(spec)), "the defaults differ"
    again = await client.ok("PUT", path_of(resource, name), back.to_object())
    assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def refusal(client: ApiClient, exhibit: Exhibit, spec: Object, text: str) -> None:
    own = exhibit.resource.resource_type
    obj = {"apiVersion": own.api_version, "kind": own.kind, "metadata": {"name": "refused"}, "spec": spec}
    code, answer = await client.ask("POST", path_of(exhibit.resource), obj)
    assert code == 422, (spec, answer)
    assert text in answer["message"]
    if exhibit.python_takes:
        exhibit.resource.from_object(obj)
    else:
        with pytest.raises(InvalidObjectError):
            exhibit.resource.from_object(obj)


@with_api
async def test_status_and_scale_are_subresources(client: ApiClient) -> None:
    await define(client, WebApp.crd())
    app = WebApp(metadata=ObjectMeta(name="a"), spec=WebAppSpec(image="nginx:1", replicas=2))
    app.status.availableReplicas = 7
    made = WebApp.from_object(await client.ok("POST", path_of(WebApp), app.to_object()))
    assert made.status.availableReplicas == 0
    made.status.availableReplicas = 2
    made.status.selector = "app=a"
    await client.ok("PUT", path_of(WebApp, "a", "status"), made.to_object())
    scale = await client.ok("GET", path_of(WebApp, "a", "scale"))
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 2, "selector": "app=a"})


@with_api
async def test_kubectl_sees_columns_and_selectable_fields(client: ApiClient) -> None:
    await define(client, WebApp.crd())
    for name, image in (("a", "nginx:1"), ("b", "nginx:2")):
        app = WebApp(metadata=ObjectMeta(name=name), spec=WebAppSpec(image=image))
        await client.ok("POST", path_of(WebApp), app.to_object())
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    found = await client.ok("GET", f"{path_of(WebApp)}?fieldSelector=spec.image%3Dnginx%3A2", headers=table)
    assert [(each["name"], each["type"]) for each in found["columnDefinitions"]] == [
        ("Name", "string"),
        ("Image", "string"),
        ("Replicas", "integer"),
        ("Age", "date"),
    ]
    assert [row["cells"][:3] for row in found["rows"]] == [["b", "nginx:2", 1]]


@with_api
async def test_rules_of_root_and_field_hold_on_updates(client: ApiClient) -> None:
    await define(client, Ruled.crd())
    wrong = Ruled(metadata=ObjectMeta(name="wrong"))
    code, answer = await client.ask("POST", path_of(Ruled), wrong.to_object())
    assert (code, "names start with r" in answer["message"]) == (422, True)
    made = Ruled.from_object(
        await client.ok("POST", path_of(Ruled), Ruled(metadata=ObjectMeta(name="r")).to_object())
    )
    made.spec = RuledSpec(class_name="b")
    code, answer = await client.ask("PUT", path_of(Ruled, "r"), made.to_object())
    assert (code, "spec.className: Forbidden: is immutable" in answer["message"]) == (422, True)


@with_api
async def test_a_resource_needs_neither_spec_nor_status(client: ApiClient) -> None:
    await define(client, Policy.crd())
    made = await client.ok("POST", path_of(Policy), Policy(metadata=ObjectMeta(name="p")).to_object())
    assert (made["allowedUsers"], made["defaultMode"]) == ([], "deny")
    assert path_of(Policy) == "/apis/data.example.com/v1/policies"
    assert Policy.from_object(made).default_mode == "deny"
