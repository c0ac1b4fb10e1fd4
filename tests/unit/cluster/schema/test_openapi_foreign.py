"""Documents of other servers among our own."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.cluster.schema.openapi import OpenAPI
from steersman.cluster.schema.openapi.foreign import Foreign, converted, merge_into, part_of

PATH = "apis/g.example/v1"
REF = {"$ref": "#/definitions/g.Foo"}


def operation(**more: Any) -> dict[str, Any]:
    return {"get": {"responses": {"200": {"description": "OK", "schema": REF}}, **more}}


def document(**more: Any) -> dict[str, Any]:
    definitions = {
        "g.Foo": {"type": "object", "properties": {"bar": {"$ref": "#/definitions/g.Bar"}}},
        "g.Bar": {"type": "object", "additionalProperties": True},
        "g.Unused": {"type": "string"},
    }
    paths = {f"/{PATH}/foos": operation(), "/apis/g.example/v1beta1/foos": operation(), "/version/": {}}
    return {"swagger": "2.0", "paths": paths, "definitions": definitions, **more}


def test_a_part_has_its_own_paths_and_the_types_they_need() -> None:
    part = part_of(document(), PATH)
    assert list(part["paths"]) == [f"/{PATH}/foos"]
    assert list(part["definitions"]) == ["g.Bar", "g.Foo"]


def test_parameters_kept_elsewhere_are_put_in_place() -> None:
    shared = {"name-1": {"name": "name", "in": "path", "type": "string"}, "x": {"name": "x", "in": "header"}}
    given = [{"$ref": "#/parameters/name-1"}, {"$ref": "#/parameters/x"}, {"name": "q", "in": "query"}]
    item = {**operation(parameters=given), "parameters": given[:1]}
    part = part_of(document(paths={f"/{PATH}/foos": item}, parameters=shared), PATH)
    shown = part["paths"][f"/{PATH}/foos"]
    assert shown["parameters"] == [shared["name-1"]]
    assert [each["name"] for each in shown["get"]["parameters"]] == ["name", "q"]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param([], id="no object"),
        pytest.param({"paths": ["x"]}, id="paths that are a list"),
        pytest.param({"paths": {f"/{PATH}/x": {"get": {"tags": 1}}}}, id="an operation of another shape"),
        pytest.param(
            {"paths": {f"/{PATH}/x": {"parameters": [{"$ref": "#/parameters/no"}]}}}, id="no such parameter"
        ),
        pytest.param(
            document(definitions={"g.Foo": {"properties": {"a": "text"}}}), id="a type of another shape"
        ),
    ],
)
def test_what_is_no_document_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="no OpenAPI document"):
        part_of(wrong, PATH)


def test_a_type_of_another_shape_gets_another_name() -> None:
    ours: dict[str, Any] = {
        "paths": {},
        "definitions": {"g.Bar": {"type": "string"}, "g.Bar_v2": {"type": "integer"}},
    }
    merge_into(ours, part_of(document(), PATH))
    assert ours["definitions"]["g.Bar"] == {"type": "string"}
    assert ours["definitions"]["g.Bar_v3"] == {"type": "object", "additionalProperties": True}
    assert ours["definitions"]["g.Foo"]["properties"]["bar"] == {"$ref": "#/definitions/g.Bar_v3"}


def test_the_same_type_is_of_all_its_kinds() -> None:
    kind = "x-kubernetes-group-version-kind"
    ours = {"paths": {}, "definitions": {"m.Options": {"type": "object", kind: [{"group": "a"}]}}}
    theirs = {
        "paths": {},
        "definitions": {"m.Options": {"type": "object", kind: [{"group": "a"}, {"group": "b"}]}},
    }
    merge_into(ours, theirs)
    assert ours["definitions"] == theirs["definitions"]


def test_a_path_that_is_ours_stays_ours() -> None:
    ours: dict[str, Any] = {"paths": {f"/{PATH}/foos": {}}, "definitions": {}}
    merge_into(ours, part_of(document(), PATH))
    assert ours["paths"] == {f"/{PATH}/foos": {}}


def test_version_3_is_made_of_version_2() -> None:
    body = {"name": "body", "in": "body", "required": True, "schema": REF}
    query = {"name": "q", "in": "query", "type": "boolean", "uniqueItems": True}
    given = operation(parameters=[body, query], consumes=["a/b"], produces=["c/d"], operationId="readFoo")
    made = orjson.loads(converted(part_of(document(paths={f"/{PATH}/foos": given}), PATH), "v1"))
    reference = {"schema": {"$ref": "#/components/schemas/g.Foo"}}
    assert made["openapi"] == "3.0.0"
    assert made["paths"][f"/{PATH}/foos"]["get"] == {
        "operationId": "readFoo",
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "boolean", "uniqueItems": True}}],
        "requestBody": {"content": {"a/b": reference}},
        "responses": {"200": {"description": "OK", "content": {"c/d": reference}}},
    }
    assert sorted(made["components"]["schemas"]) == ["g.Bar", "g.Foo"]


def test_foreign_documents_are_among_ours() -> None:
    foreign: list[Foreign] = []
    openapi = OpenAPI("v1", foreign=lambda: foreign)
    before = openapi.index().digest
    assert openapi.group_version(PATH) is None
    foreign.append(Foreign(PATH, part_of(document(), PATH), b'{"openapi":"3.0.0"}'))
    openapi.changed()
    index = orjson.loads(openapi.index().body)
    assert index["paths"][PATH]["serverRelativeURL"].startswith(f"/openapi/v3/{PATH}?hash=")
    assert openapi.index().digest != before
    shown = openapi.group_version(PATH)
    assert shown is not None
    assert shown.body == b'{"openapi":"3.0.0"}'
    whole = orjson.loads(openapi.v2_json().body)
    assert whole["definitions"]["g.Bar"] == {"type": "object", "additionalProperties": True}
    assert f"/{PATH}/foos".encode() in openapi.v2_protobuf().body
