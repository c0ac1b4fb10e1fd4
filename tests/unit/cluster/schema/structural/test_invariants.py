"""Which schemas are not structural, and how that is said."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.structural.invariants import structural_errors
from steersman.cluster.schema.structural.node import parse
from steersman.objects.fields import Path

Object = dict[str, Any]


def root(**more: Any) -> Object:
    return {"type": "object", **more}


def field(schema: Object) -> Object:
    return root(properties={"x": schema})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(root(), [], id="an empty object"),
        pytest.param({}, ["s.type: Required value: must not be empty at the root"], id="root without type"),
        pytest.param({"type": "string"}, ['s.type: Invalid value: "string": must be object at the root'], id="root of another type"),
        pytest.param(field({}), ["s.properties[x].type: Required value: must not be empty for specified object fields"], id="field without type"),
        pytest.param(
            field({"type": "array", "items": {}}),
            ["s.properties[x].items.type: Required value: must not be empty for specified array items"], id="items without type",
        ),
        pytest.param(field({"type": "array"}), ["s.properties[x].items: Required value: must be specified"], id="array without items"),
        pytest.param(field({"x-kubernetes-int-or-string": True}), [], id="int-or-string needs no type"),
        pytest.param(field({"x-kubernetes-preserve-unknown-fields": True}), [], id="what keeps all needs no type"),
        pytest.param(
            root(additionalProperties={"type": "string"}),
            ["s.additionalProperties: Forbidden: must not be used at the root"], id="a map at the root",
        ),
        pytest.param(
            field({"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}), [
                "s.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: true: "
                "must be false if x-kubernetes-int-or-string is true"
            ], id="clashing extensions",
        ),
        pytest.param(
            field({"type": "string", "x-kubernetes-embedded-resource": True}), [
                "s.properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is "
                "true without x-kubernetes-preserve-unknown-fields",
                's.properties[x].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
            ], id="an embedded text",
        ),
        pytest.param(
            root(properties={"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}), [
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
                "but metadata is implicitly specified"
            ], id="metadata",
        ),
        pytest.param(
            root(properties={"metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}}}),
            [], id="the name may be restricted",
        ),
        pytest.param(
            root(properties={"kind": {"type": "integer"}}),
            ['s.properties[kind].type: Invalid value: "integer": must be string'], id="kind",
        ),
        pytest.param(
            field({"type": "string", "pattern": "("}), [
                's.properties[x].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
                "error parsing regexp: missing closing ): `(`"
            ], id="pattern",
        ),
        pytest.param(
            field({"type": "string", "anyOf": [{"type": "string"}, {"minLength": 2}]}),
            ["s.properties[x].anyOf[0].type: Forbidden: must be empty to be structural"], id="a type in a clause",
        ),
        pytest.param(
            field({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}), [],
            id="int-or-string spelled out",
        ),
        pytest.param(
            field({
                "x-kubernetes-int-or-string": True,
                "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}],
            }), [], id="int-or-string spelled out in allOf",
        ),
        pytest.param(
            root(properties={"a": {"type": "string"}}, anyOf=[{"properties": {"b": {"minLength": 1}}}]),
            ["s.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]"], id="incomplete",
        ),
        pytest.param(
            root(**{"not": {"description": "no", "nullable": True, "x-kubernetes-validations": [{"rule": "true"}]}}), [
                "s.not.description: Forbidden: must be empty to be structural",
                "s.not.nullable: Forbidden: must be false to be structural",
                "s.not.x-kubernetes-validations: Forbidden: must be empty to be structural",
            ], id="what clauses may not say",
        ),
    ],
)  # fmt: skip
def test_structural(schema: Object, expected: list[str]) -> None:
    assert [str(error) for error in structural_errors(parse(schema), Path("s"))] == expected
