"""Schemas of custom resource definitions: keywords, defaults, rules."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.validation import validate_create, validate_update

Object = dict[str, Any]

_KIND = ("apiextensions.k8s.io", "CustomResourceDefinition", False)
_ROOT = "spec.validation.openAPIV3Schema"
_X = f"{_ROOT}.properties[x]"


def definition(schema: Object, **more: Any) -> Object:
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}
    names = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}
    spec = {"group": "g.io", "scope": "Namespaced", "names": names, "versions": [served]}
    return {"metadata": {"name": "xs.g.io"}, "spec": spec, "status": {"storedVersions": ["v1"]}}


def root(schema: Object, **more: Any) -> list[str]:
    return [str(error) for error in validate_create(*_KIND, definition(schema, **more))]


def found(schema: Object) -> list[str]:
    """What is wrong with the schema of a field x."""
    return root({"type": "object", "properties": {"x": schema}})


def items(**schema: Any) -> Object:
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": schema,
    }


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "null"}, [
            f'{_X}.type: Unsupported value: "null": supported values: '
            '"array", "boolean", "integer", "number", "object", "string"',
            f"{_X}.type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ], id="null"),
        pytest.param({"type": "string", "uniqueItems": True}, [
            f"{_X}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        ], id="uniqueItems"),
        pytest.param({"type": "object", "$ref": "#/x"}, [f"{_X}.$ref: Forbidden: $ref is not supported"], id="$ref"),
        pytest.param({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}, [
            f"{_X}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
        ], id="map and struct"),
        pytest.param({"type": "string", "x-kubernetes-map-type": "round"}, [
            f'{_X}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
            f'{_X}.x-kubernetes-map-type: Unsupported value: "round": supported values: "atomic", "granular"',
        ], id="map type"),
        pytest.param({"type": "object", "x-kubernetes-preserve-unknown-fields": False}, [
            f"{_X}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"
        ], id="not keeping unknown fields"),
        pytest.param({"type": "string", "x-kubernetes-list-type": "bag"}, [
            f'{_X}.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
            f'{_X}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"',
        ], id="list type"),
        pytest.param({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["k"]}, [
            f"{_X}.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"
        ], id="keys of no map"),
        pytest.param({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}, [
            f"{_X}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            f"{_X}.items.type: Invalid value: \"string\": must be object if parent array's x-kubernetes-list-type is map",
        ], id="a map of texts"),
        pytest.param(items(type="object", properties={"j": {"type": "string"}}), [
            f'{_X}.x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must all be names of item properties'
        ], id="a key that is no field"),
        pytest.param(items(type="object", required=["k"], properties={"k": {"type": "object"}}), [
            f"{_X}.items.properties[k].type: Invalid value: \"object\": "
            "must be a scalar type if parent array's x-kubernetes-list-type is map"
        ], id="a key that is no scalar"),
        pytest.param(items(type="object", nullable=True, properties={"k": {"type": "string", "nullable": True}}), [
            f"{_X}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
            f"{_X}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, "
            "so it must have a default or be a required property",
            f"{_X}.items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, "
            "so it cannot be nullable",
        ], id="keys that may be missing"),
        pytest.param({"type": "string", "pattern": "["}, [
            f'{_X}.pattern: Invalid value: "[": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ]: `[`"
        ], id="pattern"),
    ],
)  # fmt: skip
def test_keywords(schema: Object, expected: list[str]) -> None:
    assert found(schema) == expected


def test_the_root_is_not_null() -> None:
    assert root({"type": "object", "nullable": True}) == [
        f"{_ROOT}.nullable: Forbidden: nullable cannot be true at the root"
    ]


def test_with_status_apart_the_root_says_little() -> None:
    fields = {"type": "object", "description": "d", "properties": {"x": {"type": "string"}}}
    assert root(fields, subresources={"status": {}}) == []
    (error,) = root({"type": "object", "maxProperties": 9}, subresources={"status": {}})
    assert error.startswith(
        f'{_ROOT}: Invalid value: {{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object"'
    )
    assert error.endswith(
        ": only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength "
        "Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example "
        "XPreserveUnknownFields XValidations] fields are allowed at the root of the schema "
        "if the status subresource is enabled"
    )


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "integer", "default": 3}, [], id="right"),
        pytest.param({"type": "integer", "default": "a"}, [
            f'{_X}.default: Invalid value: "string":  in body must be of type integer: "string"'
        ], id="of another type"),
        pytest.param({"type": "object", "default": {"a": 1, "b": 2}, "properties": {"a": {"type": "integer"}}}, [
            f'{_X}.default: Invalid value: {{"a":1,"b":2}}: must not have unknown fields'
        ], id="with unknown fields"),
        pytest.param({"type": "object", "default": {"a": 0}, "properties": {"a": {"type": "integer", "minimum": 1}}}, [
            f"{_X}.default.a: Invalid value: 0: a in body should be greater than or equal to 1"
        ], id="wrong inside"),
        pytest.param({"type": "integer", "default": 3, "x-kubernetes-validations": [{"rule": "self > 5"}]}, [
            f"{_X}.default: Invalid value: 3: failed rule: self > 5"
        ], id="against a rule"),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "a/b"}}}
            }},
            [f"{_X}.properties[metadata].properties[name].default: Invalid value: \"a/b\": must result in valid metadata: "
             "metadata.name: Invalid value: \"a/b\": may not contain '/'"], id="a name that is none"),
    ],
)  # fmt: skip
def test_defaults(schema: Object, expected: list[str]) -> None:
    assert found(schema) == expected


def test_top_level_metadata_has_no_defaults() -> None:
    schema = {"type": "object", "properties": {"kind": {"type": "string", "default": "X"}}}
    assert root(schema) == [f"{_ROOT}.properties[kind].default: Forbidden: must not be set in top-level kind"]


def rules(*given: Object, **more: Any) -> list[str]:
    properties = {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}}
    return found(
        {"type": "object", "properties": properties, "x-kubernetes-validations": list(given), **more}
    )


_RULE = f"{_X}.x-kubernetes-validations[0]"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({"rule": "self.n > 1"}, [], id="right"),
        pytest.param({"rule": " "}, [f"{_RULE}.rule: Required value: rule is not specified"], id="empty"),
        pytest.param({"rule": "true", "message": " "}, [f'{_RULE}.message: Invalid value: " ": must be non-empty if specified'], id="blank message"),
        pytest.param({"rule": "true", "message": "a\nb"}, [f'{_RULE}.message: Invalid value: "a\\nb": must not contain line breaks'], id="long message"),
        pytest.param({"rule": "true &&\ntrue"}, [f"{_RULE}.message: Required value: message must be specified if rule contains line breaks"], id="long rule"),
        pytest.param({"rule": "true", "reason": "Why"}, [
            f'{_RULE}.reason: Unsupported value: "Why": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
            '"FieldValueInvalid", "FieldValueRequired"'
        ], id="reason"),
        pytest.param({"rule": "true", "fieldPath": ".nope"}, [f'{_RULE}.fieldPath: Invalid value: ".nope": must be a valid path'], id="field path"),
        pytest.param({"rule": "self.n"}, [
            f'{_RULE}.rule: Invalid value: {{"Rule":"self.n","Message":"","MessageExpression":"","Reason":null,'
            '"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool'
        ], id="no bool"),
        pytest.param({"rule": "true", "messageExpression": "1"}, [
            f'{_RULE}.messageExpression: Invalid value: {{"Rule":"true","Message":"","MessageExpression":"1","Reason":null,'
            '"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string'
        ], id="no text"),
        pytest.param({"rule": "self.n > 1", "optionalOldSelf": True}, [
            f"{_RULE}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"
        ], id="optional what"),
    ],
)  # fmt: skip
def test_rules(rule: Object, expected: list[str]) -> None:
    assert rules(rule) == expected


def test_a_rule_that_does_not_compile() -> None:
    (error,) = rules({"rule": "self.nope == 1"})
    assert error.startswith(f'{_RULE}.rule: Invalid value: {{"Rule":"self.nope == 1"')
    assert ": compilation failed: ERROR: <input>:1:5: undefined field 'nope'" in error


def test_rules_are_compiled_only_where_the_schema_is_right() -> None:
    assert rules({"rule": "self.nope == 1"}, properties={"n": {"type": "integer", "uniqueItems": True}}) == [
        f"{_X}.properties[n].uniqueItems: Forbidden: "
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
    ]


def test_old_items_of_a_plain_list_cannot_be_told() -> None:
    item = {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    assert found({"type": "array", "maxItems": 5, "items": {**item, "maxLength": 5}}) == [
        f'{_X}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": '
        f"oldSelf cannot be used on the uncorrelatable portion of the schema within {_X}"
    ]


_COSTLY = {"rule": "self.l.all(x, self.l.all(y, x == y))"}


def test_a_rule_must_not_cost_too_much() -> None:
    errors = rules(_COSTLY)
    limits = (
        "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, "
        "and strings are declared)"
    )
    assert errors == [
        f"{_RULE}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {limits}",
        f"{_RULE}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        f"{_ROOT}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema "
        f"exceeds budget by factor of more than 100x {limits}",
    ]


def test_limits_make_a_rule_affordable() -> None:
    small = {"l": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}}}
    assert rules(_COSTLY, properties=small) == []


def test_a_costly_rule_may_stay() -> None:
    schema = {"type": "object", "properties": {"x": {
        "type": "object", "properties": {"l": {"type": "array", "items": {"type": "string", "maxLength": 100}}},
        "x-kubernetes-validations": [{"rule": "self.l.all(x, x.matches('a'))"}],
    }}}  # fmt: skip
    old, new = definition(schema), definition(schema)
    for obj in (old, new):
        obj["metadata"]["resourceVersion"] = "1"
    (error,) = (str(error) for error in validate_create(*_KIND, new))
    assert "estimated rule cost exceeds budget by factor of" in error
    assert validate_update(*_KIND, new, old) == []


_STRINGS: Object = {"type": "array", "items": {"type": "string"}}

_SHAPES: dict[str, tuple[Object, list[str]]] = {
    "a map": ({"type": "object", "additionalProperties": {"type": "string"}}, []),
    "a map of nothing known": (
        {"type": "object", "additionalProperties": {"type": "strnig"}},
        [
            f'{_X}.additionalProperties.type: Unsupported value: "strnig": supported values: "array", "boolean", '
            '"integer", "number", "object", "string"'
        ],
    ),
    "a map with fields": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "string"},
        },
        [f"{_X}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    "an empty reference": ({"type": "string", "$ref": ""}, [f"{_X}.$ref: Forbidden: $ref is not supported"]),
    "no more items": (
        {**_STRINGS, "additionalItems": False},
        [f"{_X}.additionalItems: Forbidden: additionalItems is not supported"],
    ),
    "patterns of keys": (
        {"type": "object", "patternProperties": {"a": {"type": "string"}}},
        [f"{_X}.patternProperties: Forbidden: patternProperties is not supported"],
    ),
    "no patterns of keys": ({"type": "object", "patternProperties": {}}, []),
    "a set of lists": ({"type": "array", "x-kubernetes-list-type": "set", "items": _STRINGS}, []),
    "a set of sets": (
        {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {**_STRINGS, "x-kubernetes-list-type": "set"},
        },
        [
            f'{_X}.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with '
            "x-kubernetes-list-type=set"
        ],
    ),
    "a set of atoms": (
        {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "object", "x-kubernetes-map-type": "atomic"},
        },
        [],
    ),
    "a set of strings": ({**_STRINGS, "x-kubernetes-list-type": "set"}, []),
}


@pytest.mark.parametrize(("schema", "expected"), _SHAPES.values(), ids=_SHAPES)
def test_shapes(schema: Object, expected: list[str]) -> None:
    assert found(schema) == expected
