"""Validation rules on objects: which run, what they say, and what they may cost."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.structural.correlation import Correlated
from steersman.cluster.schema.structural.engine import rule_engine
from steersman.cluster.schema.structural.evaluation import Findings, evaluate
from steersman.cluster.schema.structural.node import parse
from steersman.cluster.schema.structural.rules import compile_tree

Object = dict[str, Any]

_INTEGERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}


def run(schema: Object, value: Any, old: Any = None, *, ratchet: bool = False, **options: Any) -> Findings:
    node = parse(schema)
    tree = compile_tree(rule_engine(), node, resource=False)
    assert tree is not None
    correlated = Correlated(value, old, node) if ratchet else None
    return evaluate(tree, value, old, correlated=correlated, **options)


def errors(schema: Object, value: Any, old: Any = None, **options: Any) -> list[str]:
    return [f"{error.reason} {error}" for error in run(schema, value, old, **options).errors]


def spec(*rules: Object, **properties: Object) -> Object:
    inner = {"type": "object", "properties": properties or _INTEGERS, "x-kubernetes-validations": list(rules)}
    return {"type": "object", "properties": {"spec": inner}}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({"rule": "self.a < 3"}, "FieldValueInvalid spec: Invalid value: failed rule: self.a < 3", id="plain"),
        pytest.param({"rule": "self.a < 3", "message": " small! "}, "FieldValueInvalid spec: Invalid value: small!", id="message"),
        pytest.param(
            {"rule": "self.a < 3", "messageExpression": "'a is ' + string(self.a)", "message": "no"},
            "FieldValueInvalid spec: Invalid value: a is 5", id="message expression",
        ),
        pytest.param(
            {"rule": "self.a < 3", "messageExpression": "'  '", "message": "kept"},
            "FieldValueInvalid spec: Invalid value: kept", id="an empty message expression",
        ),
        pytest.param(
            {"rule": "self.a < 3", "messageExpression": "string(self.a / 0)", "message": "kept"},
            "FieldValueInvalid spec: Invalid value: kept", id="a failing message expression",
        ),
        pytest.param({"rule": "self.a < 3", "reason": "FieldValueForbidden"}, "FieldValueForbidden spec: Forbidden: failed rule: self.a < 3", id="forbidden"),
        pytest.param({"rule": "self.a < 3", "reason": "FieldValueRequired"}, "FieldValueRequired spec: Required value: failed rule: self.a < 3", id="required"),
        pytest.param({"rule": "self.a < 3", "reason": "FieldValueDuplicate"}, "FieldValueDuplicate spec: Duplicate value", id="duplicate"),
        pytest.param({"rule": "self.a < 3", "fieldPath": ".a"}, "FieldValueInvalid spec.a: Invalid value: failed rule: self.a < 3", id="field path"),
        pytest.param({"rule": "self.a / 0 == 1"}, 'FieldValueInvalid spec: Invalid value: "object": division by zero evaluating rule: self.a / 0 == 1', id="failing rule"),
    ],
)  # fmt: skip
def test_a_rule_that_does_not_hold(rule: Object, expected: str) -> None:
    assert errors(spec(rule), {"spec": {"a": 5}}) == [expected]


def test_scalars_are_shown() -> None:
    schema = spec(a={"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3"}]})
    assert errors(schema, {"spec": {"a": 5}}) == [
        "FieldValueInvalid spec.a: Invalid value: 5: failed rule: self < 3"
    ]


def test_rules_at_the_root_name_no_field() -> None:
    schema = {"type": "object", "properties": _INTEGERS, "x-kubernetes-validations": [{"rule": "self.a < 3"}]}
    assert errors(schema, {"a": 5}) == ["FieldValueInvalid <nil>: Invalid value: failed rule: self.a < 3"]


def test_rules_run_on_items_and_values() -> None:
    small = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3"}]}
    schema = spec(
        list={"type": "array", "items": small}, map={"type": "object", "additionalProperties": small}
    )
    assert errors(schema, {"spec": {"list": [1, 5], "map": {"k": 7}}}) == [
        "FieldValueInvalid spec.list[1]: Invalid value: 5: failed rule: self < 3",
        "FieldValueInvalid spec.map[k]: Invalid value: 7: failed rule: self < 3",
    ]


def test_nulls_are_not_judged() -> None:
    schema = spec(a={"type": "integer", "nullable": True, "x-kubernetes-validations": [{"rule": "false"}]})
    assert errors(schema, {"spec": {"a": None}}) == []


_FIXED = {"rule": "self.a == oldSelf.a", "message": "a is fixed"}


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (None, []),
        ({"spec": {"a": 1}}, []),
        ({"spec": {"a": 2}}, ["FieldValueInvalid spec: Invalid value: a is fixed"]),
        ({}, []),
    ],
    ids=["created", "unchanged", "changed", "added"],
)
def test_a_transition_rule_needs_an_old_value(old: Any, expected: list[str]) -> None:
    assert errors(spec(_FIXED), {"spec": {"a": 1}}, old) == expected


def test_an_optional_old_value_is_always_judged() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.a == 1", "optionalOldSelf": True, "message": "starts at one"}
    assert errors(spec(rule), {"spec": {"a": 2}}) == ["FieldValueInvalid spec: Invalid value: starts at one"]
    assert errors(spec(rule), {"spec": {"a": 2}}, {"spec": {"a": 1}}) == []


def test_items_of_a_map_list_have_old_values() -> None:
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "grows"}],
    }
    schema = spec(
        list={
            "type": "array",
            "items": item,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        }
    )
    old = {"spec": {"list": [{"name": "a", "v": 5}, {"name": "b", "v": 1}]}}
    new = {"spec": {"list": [{"name": "b", "v": 2}, {"name": "c", "v": 0}, {"name": "a", "v": 4}]}}
    assert errors(schema, new, old) == ["FieldValueInvalid spec.list[2]: Invalid value: grows"]


def test_what_did_not_change_is_only_warned_of() -> None:
    small = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3"}]}
    schema = spec({"rule": "self.a + self.b < 3"}, a=small, b=small)
    found = run(schema, {"spec": {"a": 5, "b": 6}}, {"spec": {"a": 5, "b": 1}}, ratchet=True)
    assert [error.field for error in found.errors] == ["spec", "spec.b"]
    assert found.warnings == ["spec.a: Invalid value: 5: failed rule: self < 3"]


def test_transition_rules_are_never_only_warned_of() -> None:
    schema = spec({"rule": "oldSelf.a > self.a"})
    value = {"spec": {"a": 1}}
    assert run(schema, value, {"spec": {"a": 1}}, ratchet=True).errors


def test_rules_share_a_budget() -> None:
    found = run(spec({"rule": "self.a > 0"}, {"rule": "self.b > 0"}), {"spec": {"a": 1, "b": 1}}, budget=3)
    text = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert [str(error) for error in found.errors] == [f'spec: Invalid value: "object": {text}']
    assert found.budget == 0


def test_one_call_is_limited_too() -> None:
    rule = {"rule": "self.l.all(x, self.l.all(y, x >= 0 && y >= 0))"}
    schema = spec(rule, l={"type": "array", "items": {"type": "integer"}})
    found = errors(schema, {"spec": {"l": [1] * 1000}})
    assert len(found) == 1
    assert "no further validation rules will be run due to call cost exceeds limit for rule" in found[0]


def test_a_rule_that_does_not_compile_fails_every_object() -> None:
    found = errors(spec({"rule": "self.nope == 1"}), {"spec": {}})
    assert found[0].startswith(
        'FieldValueInvalid spec: Invalid value: "object": rule compile error: compilation failed'
    )
