"""The shapes and definitions made of a schema: for apply, for OpenAPI, for scale and field selectors."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.structural import compile_schema
from steersman.cluster.schema.structural.errors import FieldPathError, FieldTypeError
from steersman.cluster.schema.structural.fieldpath import resolve_field_path
from steersman.cluster.schema.structural.node import parse
from steersman.cluster.schema.structural.paths import get_path, set_path
from steersman.cluster.schema.structural.publishing import definitions
from steersman.cluster.schema.structural.selectable import compile_selectable_fields
from steersman.objects.comparison import field_set
from steersman.objects.fieldsets import LEAF

Object = dict[str, Any]


def definition(schema: Object | None, **version: Any) -> Object:
    names = {"plural": "xs", "kind": "X", "listKind": "XList"}
    served = {"name": "v1", "schema": {"openAPIV3Schema": schema} if schema else None, **version}
    return {"spec": {"group": "stable.example.com", "names": names, "versions": [served]}}


def published(schema: Object, openapi: int) -> Object:
    return definitions(definition(schema), "v1", openapi)["com.example.stable.v1.X"]


def spec_of(schema: Object, openapi: int) -> Object:
    shown: Object = published({"type": "object", "properties": {"x": schema}}, openapi)["properties"]["x"]
    return shown


def test_ownership_follows_the_schema(schema: Object) -> None:
    shape = compile_schema(schema).to_schema()
    obj = {
        "apiVersion": "g/v1",
        "kind": "X",
        "metadata": {"name": "a", "labels": {"l": "1"}},
        "spec": {"image": "i", "list": [{"name": "q"}], "free": {"x": {"y": 1}}, "labels": {"k": "v"}},
    }
    assert field_set(obj, shape) == {
        "f:metadata": {"f:labels": {"f:l": LEAF}},
        "f:spec": {
            "f:image": LEAF,
            "f:list": {'k:{"name":"q"}': {".": LEAF, "f:name": LEAF}},
            "f:free": {"f:x": {".": LEAF, "f:y": LEAF}},
            "f:labels": {"f:k": LEAF},
        },
    }


def test_what_is_inside_something_free_is_free() -> None:
    known = {"type": "object", "properties": {"a": {"type": "string"}}}
    free = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"known": known, "items": {"type": "array", "items": known}},
    }
    schema = {"type": "object", "properties": {"free": free, "known": known, "empty": {"type": "object"}}}
    shape = compile_schema(schema).to_schema()
    outer = shape.property("free")
    assert outer is not None
    inner, items = outer.property("known"), outer.property("items")
    assert inner is not None
    assert items is not None
    assert inner.preserves_unknown
    assert items.element().preserves_unknown
    found = {name: shape.property(name) for name in ("known", "empty")}
    assert {name: child and child.preserves_unknown for name, child in found.items()} == {
        "known": False,
        "empty": True,
    }


def test_keys_have_their_defaults() -> None:
    item = {
        "type": "object",
        "required": ["port"],
        "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
    }
    ports = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    }
    shape = compile_schema({"type": "object", "properties": {"ports": ports}}).to_schema().property("ports")
    assert shape is not None
    assert (shape.list_type, shape.keys, shape.key_defaults) == (
        "map",
        ("port", "protocol"),
        {"protocol": "TCP"},
    )


def test_kind_and_list_are_published(schema: Object) -> None:
    made = definitions(definition(schema, selectableFields=[{"jsonPath": ".spec.image"}]), "v1", 3)
    assert list(made) == ["com.example.stable.v1.X", "com.example.stable.v1.XList"]
    kind, listed = made.values()
    assert kind["x-kubernetes-group-version-kind"] == [
        {"group": "stable.example.com", "kind": "X", "version": "v1"}
    ]
    assert kind["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.image"}]
    assert kind["properties"]["metadata"]["$ref"] == "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert kind["properties"]["spec"]["properties"]["image"]["pattern"] == "^.+:.+$"
    assert listed["properties"]["items"]["items"] == {"$ref": "com.example.stable.v1.X"}
    assert listed["required"] == ["items"]


@pytest.mark.parametrize(
    ("field", "second", "third"),
    [
        pytest.param({"x-kubernetes-int-or-string": True}, {"x-kubernetes-int-or-string": True}, {
            "x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]
        }, id="int-or-string"),
        pytest.param({"type": "string", "nullable": True}, {}, {"type": "string", "nullable": True}, id="nullable"),
        pytest.param(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}},
            {"x-kubernetes-preserve-unknown-fields": True},
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}},
            id="what keeps unknown fields"),
        pytest.param({"type": "integer", "anyOf": [{"minimum": 1}]}, {"type": "integer"},
                     {"type": "integer", "anyOf": [{"minimum": 1}]}, id="clauses"),
        pytest.param(
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}}},
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}},
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}}},
            id="required and nullable"),
    ],
)  # fmt: skip
def test_version_2_shows_less(field: Object, second: Object, third: Object) -> None:
    assert spec_of(field, 2) == second
    assert spec_of(field, 3) == third


def test_embedded_resources_have_metadata() -> None:
    shown = spec_of(
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object"}},
        },
        3,
    )
    assert shown["required"] == ["kind", "apiVersion"]
    assert set(shown["properties"]) == {"apiVersion", "kind", "metadata", "spec"}


def test_without_a_schema_anything_goes() -> None:
    made = definitions(definition(None), "v1", 2)["com.example.stable.v1.X"]
    assert {key for key in made if not key.startswith("x-")} == {"type"}


def test_selectable_fields_are_texts() -> None:
    read = compile_selectable_fields(
        {"selectableFields": [{"jsonPath": f".spec.{key}"} for key in ("text", "flag", "number", "absent")]},
        namespaced=True,
    )
    obj = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"text": "t", "flag": True, "number": 3}}
    assert read(obj) == {
        "metadata.name": "a",
        "metadata.namespace": "n",
        "spec.text": "t",
        "spec.flag": "true",
        "spec.number": "3",
        "spec.absent": "",
    }


def test_paths_read_and_write() -> None:
    obj: Object = {"status": {"replicas": 2}}
    assert get_path(obj, ".status.replicas", int) == 2
    assert get_path(obj, ".spec.replicas", int) is None
    set_path(obj, ".spec.deep.replicas", 5)
    assert obj["spec"] == {"deep": {"replicas": 5}}
    with pytest.raises(FieldTypeError, match=r"\.status\.replicas accessor error: 2 is of the type int64"):
        get_path(obj, ".status.replicas", str)
    with pytest.raises(FieldTypeError, match=r"\.status\.replicas\.x accessor error: 2 is of the type int64"):
        get_path(obj, ".status.replicas.x.y", int)
    with pytest.raises(FieldTypeError, match=r"value cannot be set because \.status\.replicas is not a map"):
        set_path(obj, ".status.replicas.x", 1)


_TREE = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"a.b": {"type": "string"}, "c": {"type": "string"}}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".spec.c", "spec.c"),
        (".spec['a.b']", "spec.a.b"),
        (".map.k", "map[k]"),
        (".map['it\\'s']", "map[it's]"),
    ],
)
def test_field_paths_lead_to_fields(path: str, text: str) -> None:
    assert resolve_field_path(path, parse(_TREE)).text == text


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".spec.nope", "does not refer to a valid field"),
        (".spec.c.d", "does not refer to a valid field"),
        ("spec", "expected \\[ or . but got: spec"),
        (".spec[c]", "expected single quoted string but got c"),
        (".spec['c'", "unexpected end of JSON path"),
        (".spec['\\q']", "invalid string literal: invalid escape char"),
        (".", "unexpected end of JSON path"),
    ],
)
def test_field_paths_that_lead_nowhere(path: str, problem: str) -> None:
    with pytest.raises(FieldPathError, match=problem):
        resolve_field_path(path, parse(_TREE))


def test_brackets_can_be_refused() -> None:
    with pytest.raises(FieldPathError, match="array notation is not allowed"):
        resolve_field_path(".spec['c']", parse(_TREE), brackets=False)
