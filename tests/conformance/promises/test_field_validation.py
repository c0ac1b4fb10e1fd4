"""Promises about fields that are unknown or given twice."""

from __future__ import annotations

from typing import Any

from tests.support.api import ApiClient

from .definitions import ANYTHING, definition, establish, version
from .keeping import NAMESPACE, Object, promise

STRICT = "fieldManager=field_validation_mgr&fieldValidation=Strict"

_DEPLOYMENT = """{
  "apiVersion": "apps/v1",
  "kind": "Deployment",
  "metadata": {"name": "my-dep", %s "labels": {"app": "nginx"}},
  "spec": {
    %s
    "selector": {"matchLabels": {"app": "nginx"}},
    "template": {
      "metadata": {"labels": {"app": "nginx"}},
      "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]}
    }
  }
}"""


async def _refused_deployment(client: ApiClient, metadata: str = "", spec: str = "") -> str:
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments?{STRICT}"
    code, status = await client.ask("POST", path, (_DEPLOYMENT % (metadata, spec)).encode())
    assert code == 400
    message: str = status["message"]
    return message


@promise("FieldValidation should detect unknown and duplicate fields of a typed object")
async def test_unknown_and_duplicate_fields_of_a_built_in(client: ApiClient) -> None:
    message = await _refused_deployment(client, spec='"unknownField": "foo", "replicas": 2, "replicas": 3,')
    assert (
        'strict decoding error: unknown field "spec.unknownField", duplicate field "spec.replicas"' in message
    )


@promise("FieldValidation should detect unknown metadata fields of a typed object")
async def test_unknown_metadata_of_a_built_in(client: ApiClient) -> None:
    message = await _refused_deployment(client, metadata='"unknownMeta": "foo",')
    assert 'strict decoding error: unknown field "metadata.unknownMeta"' in message


_TEXT: Object = {"type": "string"}
_NUMBER: Object = {"type": "integer", "format": "int32"}
_PORT = {
    "type": "object",
    "required": ["containerPort", "protocol"],
    "properties": {
        "containerPort": _NUMBER,
        "hostIP": _TEXT,
        "hostPort": _NUMBER,
        "name": _TEXT,
        "protocol": _TEXT,
    },
}
_SPEC: Object = {
    "foo": _TEXT,
    "cronSpec": {"type": "string", "pattern": r"^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$"},
    "ports": {
        "type": "array",
        "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
        "x-kubernetes-list-type": "map",
        "items": _PORT,
    },
}


def _schema(more: Object | None = None, **extensions: Any) -> Object:
    spec = {"type": "object", "properties": {**_SPEC, **(more or {})}, **extensions}
    return {"type": "object", "properties": {"spec": spec}}


async def _apply(client: ApiClient, schema: Object, body: str) -> tuple[int, Object]:
    """Apply a noxu, in YAML; `body` is what follows the name."""
    versions = (version("v1", schema), version("v2", schema, storage=False))
    await establish(client, definition("mygroup.example.com", "Noxu", *versions, namespaced=False))
    head = "apiVersion: mygroup.example.com/v1\nkind: Noxu\nmetadata:\n  name: mytest\n"
    return await client.ask(
        "PATCH",
        f"/apis/mygroup.example.com/v1/noxus/mytest?{STRICT}",
        (f"\n{head}{body}").encode(),
        {"content-type": "application/apply-patch+yaml"},
    )


_REST = """  cronSpec: "* * * * */5"
  ports:
  - name: x
    containerPort: 80
    protocol: TCP"""


@promise("FieldValidation should create/apply a valid CR for CRD with validation schema")
async def test_a_valid_custom_object(client: ApiClient) -> None:
    code, answer = await _apply(client, _schema(), f"spec:\n  foo: foo1\n{_REST}")
    assert code == 201, answer


@promise("FieldValidation should create/apply a CR with unknown fields for CRD with no validation schema")
async def test_unknown_fields_without_a_schema(client: ApiClient) -> None:
    code, answer = await _apply(client, ANYTHING, f"spec:\n  unknown: uk1\n{_REST}")
    assert code == 201, answer


@promise(
    "FieldValidation should create/apply an invalid CR with extra properties for CRD with validation schema"
)
async def test_unknown_fields_with_a_schema(client: ApiClient) -> None:
    code, status = await _apply(client, _schema(), f"unknownField: unknown\nspec:\n  foo: foo1\n{_REST}")
    assert code >= 400
    assert ".unknownField: field not declared in schema" in status["message"]


@promise("FieldValidation should detect unknown metadata fields in both the root and embedded object of a CR")
async def test_unknown_metadata_of_a_custom_object_and_one_within(client: ApiClient) -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {
            "metadata": {"type": "object", "properties": {"name": _TEXT}},
            "spec": {"type": "object"},
        },
    }
    schema = _schema({"template": embedded}, **{"x-kubernetes-preserve-unknown-fields": True})
    template = f"""  unknownMeta: unknown
spec:
  template:
    apiversion: foo/v1
    kind: Sub
    metadata:
        unknownSubMeta: unknown
        name: subobject
        namespace: {NAMESPACE}
  foo: foo1
"""
    code, status = await _apply(client, schema, template + _REST)
    assert code >= 400
    assert ".spec.template.metadata.unknownSubMeta: field not declared in schema" in status["message"] or (
        ".metadata.unknownMeta: field not declared in schema" in status["message"]
    )


@promise("FieldValidation should detect duplicates in a CR when preserving unknown fields")
async def test_fields_given_twice_when_unknown_ones_are_kept(client: ApiClient) -> None:
    schema = _schema(**{"x-kubernetes-preserve-unknown-fields": True})
    body = f"spec:\n  unknown: uk1\n  foo: foo1\n  foo: foo2\n{_REST}"
    code, status = await _apply(client, schema, body)
    assert code >= 400
    assert 'line 9: key "foo" already set in map' in status["message"]
