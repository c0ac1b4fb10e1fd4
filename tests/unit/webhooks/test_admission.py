"""Questions and answers: what a function says as a review, and patches that fit the object as it came."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, cast

import orjson
import pytest
from pydantic import field_validator

from steersman.client import Client
from steersman.objects.builders import ConfigMap
from steersman.objects.custom import CustomResource, Field, Model
from steersman.objects.patches import json as json_patch
from steersman.objects.resource_type import ResourceType
from steersman.operator import AdmissionRequest, Denied, Operator
from steersman.webhooks.admission import answer
from steersman.webhooks.review import MalformedReview

Object = dict[str, Any]
Function = Callable[[AdmissionRequest[Any]], Awaitable[Any]]
CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")


class Spec(Model):
    image: str
    replicas: int = 1
    parts: list[str] = Field(default_factory=list)

    @field_validator("image")
    @classmethod
    def has_tag(cls, image: str) -> str:
        if not image.count(":"):
            raise ValueError("an image needs a tag")
        return image


class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Spec


def app(image: str = "nginx:1", **more: Any) -> Object:
    metadata = {"name": "web", "managedFields": [{"manager": "kubectl"}]}
    spec = {"image": image, "unknown": {"kept": True}, **more}
    return {"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": metadata, "spec": spec}


def review(obj: Object | None, old: Object | None = None, operation: str = "CREATE", **more: Any) -> Object:
    request = {
        "uid": "705ab4f5",
        "operation": operation,
        "name": "web",
        "namespace": "shop",
        "object": obj,
        "oldObject": old,
        "userInfo": {"username": "anna", "groups": ["people"], "extra": {"a": ["b"]}},
        **more,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def asked(function: Function, question: Object, *, mutating: bool = False, kind: Any = WebApp) -> Object:
    op = Operator(WebApp)
    (op.mutate if mutating else op.validate)(kind=kind, operations=("CREATE", "UPDATE", "DELETE"))(function)
    nobody = cast(Client, None)
    made = asyncio.run(answer(op.definition.hooks[0], question, nobody))
    assert (made["apiVersion"], made["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert made["response"]["uid"] == "705ab4f5"
    return made["response"]


def patched(original: Object, response: Object) -> Object:
    assert response["allowed"]
    if "patch" not in response:
        return original
    assert response["patchType"] == "JSONPatch"
    made: Object = json_patch.apply(original, orjson.loads(base64.b64decode(response["patch"])))
    return made


async def accept(request: AdmissionRequest[WebApp]) -> None:
    return None


def test_yes_is_short() -> None:
    assert asked(accept, review(app())) == {"uid": "705ab4f5", "allowed": True}


def test_everything_that_is_known_of_a_write() -> None:
    seen: list[AdmissionRequest[WebApp]] = []

    async def look(request: AdmissionRequest[WebApp]) -> None:
        seen.append(request)

    options = {"kind": "UpdateOptions", "fieldManager": "kubectl"}
    asked(look, review(app(), app("nginx:0"), "UPDATE", dryRun=True, options=options, subResource="status"))
    request = seen[0]
    assert (request.operation, request.dry_run, request.subresource) == ("UPDATE", True, "status")
    assert (request.name, request.namespace, request.options) == ("web", "shop", options)
    assert (request.user.username, request.user.groups, request.user.extra) == (
        "anna",
        ("people",),
        {"a": ["b"]},
    )
    assert request.old is not None
    assert (request.old.spec.image, request.resource.spec.image) == ("nginx:0", "nginx:1")
    asked(look, review(None, app("nginx:0"), "DELETE"))
    assert seen[1].resource.spec.image == "nginx:0"


@pytest.mark.parametrize(
    ("denied", "status"),
    [
        (
            Denied("never"),
            {"status": "Failure", "message": "never", "code": 403, "reason": "Forbidden"},
        ),
        (
            Denied("too old", code=409, reason="Conflict"),
            {"status": "Failure", "message": "too old", "code": 409, "reason": "Conflict"},
        ),
        (
            Denied.fields({"spec.image": "no tag", "spec.replicas": "odd"}),
            {
                "status": "Failure",
                "message": "spec.image: no tag; spec.replicas: odd",
                "code": 422,
                "reason": "Invalid",
                "details": {
                    "group": "example.com",
                    "kind": "WebApp",
                    "name": "web",
                    "causes": [
                        {"reason": "FieldValueInvalid", "message": "no tag", "field": "spec.image"},
                        {"reason": "FieldValueInvalid", "message": "odd", "field": "spec.replicas"},
                    ],
                },
            },
        ),
    ],
    ids=["plain", "with a code", "several fields"],
)
def test_no_says_why(denied: Denied, status: Object) -> None:
    async def refuse(request: AdmissionRequest[WebApp]) -> None:
        raise denied

    for mutating in (False, True):
        response = asked(refuse, review(app()), mutating=mutating)
        assert response == {"uid": "705ab4f5", "allowed": False, "status": status}


@pytest.mark.parametrize(
    ("returned", "warnings"),
    [("one", ["one"]), (["a", "b"], ["a", "b"]), ([], None), (["x" * 300], ["x" * 256])],
)
def test_warnings(returned: Any, warnings: list[str] | None) -> None:
    async def warn(request: AdmissionRequest[WebApp]) -> Any:
        return returned

    assert asked(warn, review(app())).get("warnings") == warnings


def test_what_only_the_class_knows_is_refused_by_validation_and_left_to_it_by_mutation() -> None:
    refused = asked(accept, review(app(image="nginx")))
    assert (refused["allowed"], refused["status"]["code"]) == (False, 422)
    assert "an image needs a tag" in refused["status"]["message"]
    assert asked(accept, review(app(image="nginx")), mutating=True)["allowed"]


def test_a_patch_changes_what_was_changed_and_nothing_else() -> None:
    async def change(request: AdmissionRequest[WebApp]) -> None:
        app = request.resource
        app.spec.replicas = 3
        app.spec.parts.append("b")
        app.metadata.labels["example.com/a~b"] = "c"

    original = app(parts=["a"])
    made = patched(original, asked(change, review(original), mutating=True))
    expected = app(parts=["a", "b"], replicas=3)
    expected["metadata"]["labels"] = {"example.com/a~b": "c"}
    assert made == expected
    # Asked again, it has nothing left to do.
    assert "patch" not in asked(change_only_once, review(made), mutating=True)


async def change_only_once(request: AdmissionRequest[WebApp]) -> None:
    request.resource.metadata.labels.setdefault("example.com/a~b", "c")


def test_a_changed_object_can_be_returned() -> None:
    async def change(request: AdmissionRequest[WebApp]) -> WebApp:
        return request.resource.model_copy(update={"spec": Spec(image="nginx:2")})

    made = patched(app(), asked(change, review(app()), mutating=True))
    assert (made["spec"]["image"], made["spec"]["unknown"]) == ("nginx:2", {"kept": True})


@pytest.mark.parametrize("kind", [ConfigMap, CONFIG_MAPS], ids=["builder", "dict"])
def test_builders_and_dicts_are_changed_likewise(kind: Any) -> None:
    async def change(request: AdmissionRequest[Any]) -> None:
        if isinstance(request.resource, dict):
            request.resource["data"]["b"] = "2"
            request.resource["metadata"]["labels"] = {"of": "shop"}
        else:
            request.resource.data("b", "2").label("of", "shop")

    original = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "1"},
    }  # fmt: skip
    made = patched(original, asked(change, review(original), mutating=True, kind=kind))
    assert made == {
        **original, "metadata": {"name": "web", "labels": {"of": "shop"}}, "data": {"a": "1", "b": "2"},
    }  # fmt: skip


@pytest.mark.parametrize(
    "question",
    [None, [], {}, {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}, review(app()) | {"kind": "Pod"},
     review(app()) | {"request": {"operation": "CREATE"}}, review(app(), operation="CONNECT")],
)  # fmt: skip
def test_what_is_no_question_is_not_answered(question: Any) -> None:
    with pytest.raises(MalformedReview):
        asked(accept, question)


def test_what_a_function_raises_is_for_the_server() -> None:
    async def fail(request: AdmissionRequest[WebApp]) -> Any:
        return 5

    with pytest.raises(TypeError, match=r"check|fail"):
        asked(fail, review(app()))
