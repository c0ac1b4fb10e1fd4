"""What happens to a custom resource because of its schema, from the client's bytes to the verdict."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from steersman.cluster.schema.findings import Repeated
from steersman.cluster.schema.structural import MetadataError, NotStructuralError, compile_schema
from steersman.cluster.schema.structural.engine import rule_engine

Object = dict[str, Any]

_RECORDED = Path(__file__).parents[4] / "recordings/conversations/custom_resources.json"


def resource(**fields: Any) -> Object:
    return {"apiVersion": "stable.example.com/v1", "kind": "WebApp", "metadata": {"name": "a"}, **fields}


def test_unknown_fields_are_dropped_and_reported(schema: Object) -> None:
    obj = resource(
        spec={
            "image": "a:1",
            "no": 1,
            "list": [{"name": "x", "deep": {"y": 1}}],
            "free": {"any": {"thing": 1}},
        },
        extra=1,
    )
    obj["metadata"]["nonsense"] = 1
    unknown = compile_schema(schema).coerce(obj)
    assert unknown == [
        'unknown field "metadata.nonsense"',
        'unknown field "extra"',
        'unknown field "spec.list[0].deep"',
        'unknown field "spec.no"',
    ]
    spec = {"image": "a:1", "list": [{"name": "x"}], "free": {"any": {"thing": 1}}}
    assert obj == resource(spec=spec)


def test_a_definition_of_old_may_keep_unknown_fields(schema: Object) -> None:
    obj = resource(spec={"no": 1})
    assert compile_schema(schema, preserve_unknown_fields=True).coerce(obj) == []
    assert obj["spec"] == {"no": 1}


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        pytest.param(
            5, "json: cannot unmarshal number into Go value of type v1.ObjectMeta", id="not an object"
        ),
        pytest.param(
            {"labels": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
            id="a label that is no text",
        ),
    ],
)
def test_metadata_of_the_wrong_type_is_refused(schema: Object, metadata: Any, problem: str) -> None:
    with pytest.raises(MetadataError) as caught:
        compile_schema(schema).coerce({**resource(), "metadata": metadata})
    assert str(caught.value) == problem


def test_kind_must_be_a_text(schema: Object) -> None:
    with pytest.raises(
        MetadataError, match=r"\.kind accessor error: 5 is of the type int64, expected string"
    ):
        compile_schema(schema).coerce({**resource(), "kind": 5})


def test_defaults_are_filled_in_at_every_level(schema: Object) -> None:
    obj = resource(spec={"image": "a:1", "list": [{"name": "x"}, {"name": "y", "v": 0}]})
    compile_schema(schema).default(obj)
    assert obj["spec"] == {
        "image": "a:1",
        "replicas": 1,
        "tier": "web",
        "list": [{"name": "x", "v": 7}, {"name": "y", "v": 0}],
    }


@pytest.mark.parametrize(
    ("field", "given", "expected"),
    [
        pytest.param({"type": "integer"}, None, {}, id="dropped"),
        pytest.param({"type": "integer", "default": 3}, None, {"x": 3}, id="replaced by the default"),
        pytest.param({"type": "integer", "nullable": True}, None, {"x": None}, id="kept"),
        pytest.param({"type": "integer", "nullable": True, "default": 3}, None, {"x": None}, id="kept over default"),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "integer"}}, {"a": None, "b": 1}, {"x": {"b": 1}},
            id="dropped from a map",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "object", "default": {"k": 1}, "properties": {"k": {"type": "integer"}}}},
            [None], {"x": [{"k": 1}]}, id="replaced in a list",
        ),
    ],
)  # fmt: skip
def test_null(field: Object, given: Any, expected: Object) -> None:
    compiled = compile_schema(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": field}}}}
    )
    obj = resource(spec={"x": given})
    compiled.coerce(obj)
    compiled.default(obj)
    assert obj["spec"] == expected


def test_defaults_are_not_shared_between_objects() -> None:
    field = {"type": "object", "default": {"n": 1}, "properties": {"n": {"type": "integer"}}}
    compiled = compile_schema({"type": "object", "properties": {"spec": field}})
    first, second = resource(), resource()
    compiled.default(first)
    first["spec"]["n"] = 2
    compiled.default(second)
    assert second["spec"] == {"n": 1}


@pytest.mark.parametrize("name", ["$ref", "patternProperties", "definitions", "additionalItems"])
def test_what_is_not_structural_is_not_compiled(name: str) -> None:
    with pytest.raises(NotStructuralError, match="is not supported"):
        compile_schema({"type": "object", "properties": {"a": {name: {"x": {}}}}})


def test_maps_with_repeated_keys_are_pruned_like_others(schema: Object) -> None:
    obj = resource(spec=Repeated(image="a:1", no=1))
    assert compile_schema(schema).coerce(obj) == ['unknown field "spec.no"']
    assert obj["spec"] == {"image": "a:1"}


@pytest.mark.parametrize("depth", [500, 50_000])
def test_no_depth_is_too_deep_for_the_server(depth: int) -> None:
    free = {"type": "object", "additionalProperties": True}
    compiled = compile_schema({"type": "object", "properties": {"spec": free}})
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    obj = resource(spec={"k": nested})
    if depth < 1000:
        compiled.coerce(obj)
        assert compiled.validate_create(obj).errors == []
    else:
        with pytest.raises(MetadataError, match="exceeded max depth"):
            compiled.coerce(obj)


def embedded(**more: Any) -> Object:
    node = {"type": "object", "x-kubernetes-embedded-resource": True, **more}
    return {"type": "object", "properties": {"template": node}}


def test_metadata_of_an_embedded_resource_is_shaped() -> None:
    compiled = compile_schema(embedded(**{"x-kubernetes-preserve-unknown-fields": True}))
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "odd": 1}, "spec": {"free": True}}
    obj = resource(template=inner)
    assert compiled.coerce(obj) == ['unknown field "template.metadata.odd"']
    assert obj["template"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"free": True},
    }


def test_an_embedded_resource_keeps_its_metadata_without_a_schema_for_it() -> None:
    compiled = compile_schema(embedded(properties={"spec": {"type": "object"}}))
    obj = resource(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "data": 1})
    assert compiled.coerce(obj) == ['unknown field "template.data"']
    assert obj["template"] == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        pytest.param({"kind": "Pod"}, ["template.apiVersion: Required value"], id="no apiVersion"),
        pytest.param({"apiVersion": "a/b/c", "kind": "Pod"}, [
            'template.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'
        ], id="odd apiVersion"),
        pytest.param({"apiVersion": "v1", "kind": ""}, ['template.kind: Invalid value: "": must not be empty'],
                     id="empty kind"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}}, [
            "template.metadata.name: Invalid value: \"a/b\": may not contain '/'"
        ], id="a name that is no path segment"),
    ],
)  # fmt: skip
def test_embedded_resources_are_validated(inner: Object, expected: list[str]) -> None:
    compiled = compile_schema(embedded(**{"x-kubernetes-preserve-unknown-fields": True}))
    obj = resource(template=inner)
    assert [str(error) for error in compiled.validate_create(obj).errors] == expected


def test_embedded_type_meta_must_be_text() -> None:
    compiled = compile_schema(embedded(**{"x-kubernetes-preserve-unknown-fields": True}))
    with pytest.raises(MetadataError, match=r"template\.kind: Invalid value: 1: must be a string"):
        compiled.coerce(resource(template={"apiVersion": "v1", "kind": 1}))


def test_errors_of_metadata_come_first_and_keep_rules_from_running(schema: Object) -> None:
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.replicas < 5"}]
    compiled = compile_schema(schema, rules=rule_engine())
    verdict = compiled.validate_create(resource(spec={"replicas": 7}))
    assert [(error.field, error.reason) for error in verdict.errors] == [
        ("spec.image", "FieldValueRequired"),
        ("<nil>", "FieldValueInvalid"),
    ]
    assert str(verdict.errors[1]) == (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )


def test_a_limit_that_is_passed_does_not_keep_rules_from_running(schema: Object) -> None:
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.replicas < 5"}]
    compiled = compile_schema(schema, rules=rule_engine())
    verdict = compiled.validate_create(resource(spec={"image": "a:1", "replicas": 11}))
    assert [str(error) for error in verdict.errors] == [
        "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10",
        "spec: Invalid value: failed rule: self.replicas < 5",
    ]


def test_repeated_items_may_stay_but_not_come(schema: Object) -> None:
    compiled = compile_schema(schema)
    twice = resource(spec={"image": "a:1", "list": [{"name": "x"}, {"name": "x"}]})
    once = resource(spec={"image": "a:1", "list": [{"name": "x"}]})
    assert [str(error) for error in compiled.validate_create(twice).errors] == [
        'spec.list[1]: Duplicate value: {"name":"x"}'
    ]
    assert compiled.validate_update(twice, once).errors
    assert not compiled.validate_update(twice, deepcopy(twice)).errors


def test_an_update_is_not_refused_for_what_it_left_alone(schema: Object) -> None:
    compiled = compile_schema(schema)
    old = resource(spec={"image": "bad", "replicas": 1})
    new = resource(spec={"image": "bad", "replicas": 2})
    assert not compiled.validate_update(new, old).errors
    assert compiled.validate_update(new, old, ratcheting=False).errors
    assert compiled.validate_create(new).errors


def test_a_status_update_judges_the_status(schema: Object) -> None:
    compiled = compile_schema(schema)
    old = resource(spec={"image": "bad"})
    new = resource(spec={"image": "bad"}, status={"phase": 1})
    assert [str(error) for error in compiled.validate_status(new, old).errors] == [
        'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"'
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"replicas": -1}, [".spec.replicas: Invalid value: -1: should be a non-negative integer"], id="negative"),
        pytest.param({"replicas": 2**31}, [
            ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"
        ], id="too large"),
        pytest.param({"replicas": "x"}, [
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"
        ], id="not a number"),
        pytest.param({}, [], id="absent"),
    ],
)  # fmt: skip
def test_replicas_of_a_scale_subresource(spec: Object, expected: list[str]) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    compiled = compile_schema(free, scale=scale)
    assert [str(error) for error in compiled.validate_create(resource(spec=spec)).errors] == expected


def test_recorded_answers() -> None:
    steps = orjson.loads(_RECORDED.read_bytes())["steps"]
    version = steps[1]["body"]["spec"]["versions"][0]
    compiled = compile_schema(
        version["schema"]["openAPIV3Schema"], rules=rule_engine(), scale=version["subresources"]["scale"]
    )
    judged = 0
    for step in steps:
        if step["method"] != "POST" or not step["path"].endswith("/webapps"):
            continue
        obj = deepcopy(step["body"])
        unknown = compiled.coerce(obj)
        obj.pop("status", None)
        compiled.default(obj)
        errors = compiled.validate_create(obj).errors
        answer = step["answer"]
        assert [f"299 - {orjson.dumps(text).decode()}" for text in unknown] == answer.get("warnings", [])
        causes = answer["body"].get("details", {}).get("causes", [])
        assert [(e.field, e.message, e.reason) for e in errors] == [
            (cause["field"], cause["message"], cause["reason"]) for cause in causes
        ]
        if answer["code"] == 201:
            assert obj["spec"] == answer["body"]["spec"]
        judged += 1
    assert judged == 6
