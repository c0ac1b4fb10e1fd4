"""The words, fields and reasons of schema validation, as kube-apiserver has them."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.structural.correlation import Correlated
from steersman.cluster.schema.structural.explain import explain
from steersman.cluster.schema.structural.node import parse
from steersman.cluster.schema.structural.translate import compile_acceptor
from steersman.objects.fields import Path

_AT = "spec.x"


def found(schema: dict[str, Any], value: Any, old: Any = None) -> list[str]:
    """What is wrong with `spec.x`."""
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": schema}}}}
    obj = {"spec": {"x": value}}
    correlated = Correlated(obj, {"spec": {"x": old}}, parse(root)) if old is not None else None
    errors = explain(root, obj, Path(), correlated)
    if old is None:
        assert compile_acceptor(root)(obj) is (not errors) or not errors, "the quick check is laxer"
    return [f"{error.reason} {error}" for error in errors]


def invalid(text: str) -> str:
    return f"FieldValueInvalid {_AT}: Invalid value: {text}"


def wrong_type(text: str) -> str:
    return f"FieldValueTypeInvalid {_AT}: Invalid value: {text}"


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(
            {"type": "integer"}, "a", [wrong_type('"string": spec.x in body must be of type integer: "string"')],
            id="text for a number",
        ),
        pytest.param(
            {"type": "string"}, 5, [wrong_type('"integer": spec.x in body must be of type string: "integer"')],
            id="number for a text",
        ),
        pytest.param(
            {"type": "string"}, None, [wrong_type('"null": spec.x in body must be of type string: "null"')], id="null"
        ),
        pytest.param({"type": "string", "nullable": True}, None, [], id="nullable null"),
        pytest.param({"type": "integer"}, 1.0, [], id="a whole float is an integer"),
        pytest.param(
            {"type": "integer"}, 1.5, [
                wrong_type('"number": spec.x in body must be of type integer: "number"'),
                'FieldValueInvalid <nil>: Invalid value: "": '
                "Checked value must be of type integer (default format) in spec.x",
            ],
            id="a fraction is not",
        ),
        pytest.param({"type": "number"}, 1, [], id="an integer is a number"),
        pytest.param(
            {"type": "integer"}, 2**63, [
                wrong_type('"number": spec.x in body must be of type integer: "number"'),
                'FieldValueInvalid <nil>: Invalid value: "": '
                "Checked value must be of type integer (default format) in spec.x",
            ],
            id="beyond 64 bits",
        ),
        pytest.param(
            {"type": "integer", "format": "int32"}, 2**31, [
                'FieldValueInvalid <nil>: Invalid value: "": '
                "Checked value must be of type integer with format int32 in spec.x"
            ],
            id="beyond 32 bits",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True}, True,
            [wrong_type('"boolean": spec.x in body must be of type integer,string: "boolean"')], id="int or string",
        ),
        pytest.param(
            {"type": "integer", "minimum": 1}, 0,
            [invalid("0: spec.x in body should be greater than or equal to 1")], id="minimum",
        ),
        pytest.param(
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1,
            [invalid("1: spec.x in body should be greater than 1")], id="exclusive minimum",
        ),
        pytest.param(
            {"type": "number", "maximum": 1.5}, 1.75,
            [invalid("1.75: spec.x in body should be less than or equal to 1.5")], id="maximum",
        ),
        pytest.param(
            {"type": "integer", "maximum": 3, "exclusiveMaximum": True}, 3,
            [invalid("3: spec.x in body should be less than 3")], id="exclusive maximum",
        ),
        pytest.param(
            {"type": "integer", "multipleOf": 5}, 7, [invalid("7: spec.x in body should be a multiple of 5")],
            id="multiple",
        ),
        pytest.param({"type": "number", "multipleOf": 0.5}, 1.5, [], id="a fraction of fractions"),
        pytest.param(
            {"type": "string", "maxLength": 1}, "ab",
            [f"FieldValueTooLong {_AT}: Too long: may not be more than 1 byte"], id="too long",
        ),
        pytest.param({"type": "string", "maxLength": 1}, "é", [], id="length is in characters"),
        pytest.param(
            {"type": "string", "minLength": 3}, "ab",
            [invalid('"ab": spec.x in body should be at least 3 chars long')], id="too short",
        ),
        pytest.param(
            {"type": "string", "pattern": "^a+$"}, "ab", [invalid("\"ab\": spec.x in body should match '^a+$'")],
            id="pattern",
        ),
        pytest.param(
            {"type": "string", "enum": ["a", "b"]}, "c",
            [f'FieldValueNotSupported {_AT}: Unsupported value: "c": supported values: "a", "b"'], id="enum",
        ),
        pytest.param(
            {"type": "integer", "enum": [1, 2]}, 3,
            [f'FieldValueNotSupported {_AT}: Unsupported value: 3: supported values: "1", "2"'], id="enum of numbers",
        ),
        pytest.param(
            {"type": "array", "maxItems": 1, "items": {"type": "string"}}, ["a", "b"],
            [f"FieldValueTooMany {_AT}: Too many: 2: must have at most 1 item"], id="too many items",
        ),
        pytest.param(
            {"type": "array", "minItems": 2, "items": {"type": "string"}}, ["a"],
            [invalid("1: spec.x in body should have at least 2 items")], id="too few items",
        ),
        pytest.param({"type": "array", "maxItems": 0, "items": {"type": "string"}}, [], [], id="none, as demanded"),
        pytest.param(
            {"type": "array", "items": {"type": "string"}}, ["a", 1], [
                'FieldValueTypeInvalid spec.x[1]: Invalid value: "integer": '
                'spec.x[1] in body must be of type string: "integer"'
            ],
            id="an item",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string"}}, {"k": 1}, [
                'FieldValueTypeInvalid spec.x.k: Invalid value: "integer": '
                'spec.x.k in body must be of type string: "integer"'
            ],
            id="a map's value",
        ),
        pytest.param(
            {"type": "object", "maxProperties": 1, "additionalProperties": True}, {"a": 1, "b": 2},
            [f"FieldValueTooMany {_AT}: Too many: 2: must have at most 1 item"], id="too many properties",
        ),
        pytest.param(
            {"type": "object", "minProperties": 1}, {},
            [invalid("0: spec.x in body should have at least 1 properties")], id="too few properties",
        ),
        pytest.param(
            {"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]}, {},
            ["FieldValueRequired spec.x.y: Required value"], id="required",
        ),
        pytest.param(
            {"type": "string", "format": "date-time"}, "today",
            [wrong_type('"today": spec.x in body must be of type date-time: "today"')], id="format",
        ),
        pytest.param(
            {"type": "string", "format": "date-time"}, 5,
            [wrong_type('"int64": spec.x in body must be of type date-time: "int64"')], id="number for a format",
        ),
        pytest.param({"type": "string", "format": "made-up"}, "anything", [], id="unknown formats say nothing"),
    ],
)  # fmt: skip
def test_message(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    assert found(schema, value) == expected


def general(text: str) -> str:
    return f'FieldValueInvalid <nil>: Invalid value: "": {text}'


@pytest.mark.parametrize(
    ("clauses", "value", "expected"),
    [
        pytest.param(
            {"anyOf": [{"minimum": 5}, {"maximum": 1}]}, 3, [
                general('"spec.x" must validate at least one schema (anyOf)'),
                invalid("3: spec.x in body should be greater than or equal to 5"),
            ],
            id="anyOf",
        ),
        pytest.param({"anyOf": [{"minimum": 5}, {"maximum": 3}]}, 3, [], id="anyOf holds"),
        pytest.param(
            {"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3,
            [general('"spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives')],
            id="oneOf with two",
        ),
        pytest.param(
            {"oneOf": [{"minimum": 5}, {"minimum": 6}]}, 3, [
                general('"spec.x" must validate one and only one schema (oneOf). Found none valid'),
                invalid("3: spec.x in body should be greater than or equal to 5"),
            ],
            id="oneOf with none",
        ),
        pytest.param(
            {"allOf": [{"minimum": 5}, {"maximum": 4}]}, 3, [
                invalid("3: spec.x in body should be greater than or equal to 5"),
                general('"spec.x" must validate all the schemas (allOf)'),
            ],
            id="allOf",
        ),
        pytest.param(
            {"not": {"enum": [3]}}, 3, [general('"spec.x" must not validate the schema (not)')], id="not"
        ),
    ],
)  # fmt: skip
def test_clauses(clauses: dict[str, Any], value: Any, expected: list[str]) -> None:
    assert found({"type": "integer", **clauses}, value) == expected


def test_the_clause_that_matched_most_is_told_of() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [
            {"required": ["z"]},
            {"properties": {"a": {"enum": ["x"]}, "b": {"enum": ["y"]}}},
        ],
    }
    assert found(schema, {"a": "x", "b": "n"}) == [
        general('"spec.x" must validate at least one schema (anyOf)'),
        'FieldValueNotSupported spec.x.b: Unsupported value: "n": supported values: "y"',
    ]


@pytest.mark.parametrize(
    ("new", "old", "tolerated"),
    [
        pytest.param({"a": 0, "b": 2}, {"a": 0, "b": 1}, True, id="unchanged field"),
        pytest.param({"a": -1}, {"a": 0}, False, id="changed field"),
        pytest.param({"a": 0}, {"b": 1}, False, id="new field"),
    ],
)
def test_what_did_not_change_may_stay_wrong(new: Any, old: Any, tolerated: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "integer"}},
    }
    assert (found(schema, new, old) == []) is tolerated


@pytest.mark.parametrize(("list_type", "tolerated"), [("map", True), ("atomic", False)])
def test_items_are_found_again_by_their_key_only(list_type: str, tolerated: bool) -> None:
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
    }
    keys = {"x-kubernetes-list-map-keys": ["name"]} if list_type == "map" else {}
    schema = {"type": "array", "items": item, "x-kubernetes-list-type": list_type, **keys}
    old = [{"name": "a", "n": 0}]
    new = [{"name": "b", "n": 5}, {"name": "a", "n": 0}]
    assert (found(schema, new, old) == []) is tolerated


def test_many_errors_are_all_told() -> None:
    assert len(found({"type": "array", "items": {"type": "string"}}, [1] * 20_000)) == 20_000
