"""Expressions that do not compile are refused when they are written."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.policies import expression_errors
from steersman.cluster.admission.webhooks import AdmissionExpressions

Object = dict[str, Any]
UNKNOWN = "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"
PARAMS = {"apiVersion": "v1", "kind": "ConfigMap"}


def policy(**spec: Any) -> Object:
    return {"spec": spec}


CASES: dict[str, tuple[str, Object, list[tuple[str, str]]]] = {
    "webhook conditions": (
        "ValidatingWebhookConfiguration",
        {"webhooks": [{}, {"matchConditions": [{"expression": "true"}, {"expression": "x"}]}]},
        [("webhooks[1].matchConditions[1].expression", UNKNOWN)],
    ),
    "variables see those before them": (
        "ValidatingAdmissionPolicy",
        policy(
            variables=[{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}],
            validations=[{"expression": "variables.b == 2"}],
        ),
        [],
    ),
    "but not those after them": (
        "ValidatingAdmissionPolicy",
        policy(variables=[{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]),
        [("spec.variables[0].expression", "undefined field 'b'")],
    ),
    "validations are true or false": (
        "ValidatingAdmissionPolicy",
        policy(validations=[{"expression": "'x'"}]),
        [("spec.validations[0].expression", "must evaluate to bool but got string")],
    ),
    "messages are text": (
        "ValidatingAdmissionPolicy",
        policy(validations=[{"expression": "true", "messageExpression": "1"}]),
        [("spec.validations[0].messageExpression", "must evaluate to string but got int")],
    ),
    "messages cannot ask the authorizer": (
        "ValidatingAdmissionPolicy",
        policy(
            validations=[
                {"expression": "true", "messageExpression": "string(authorizer.path('/').check('get'))"}
            ]
        ),
        [("spec.validations[0].messageExpression", "undeclared reference to 'authorizer'")],
    ),
    "annotations are text or nothing": (
        "ValidatingAdmissionPolicy",
        policy(auditAnnotations=[{"valueExpression": "true"}]),
        [
            (
                "spec.auditAnnotations[0].valueExpression",
                "must evaluate to one of [string null_type] but got bool",
            )
        ],
    ),
    "params need a kind": (
        "ValidatingAdmissionPolicy",
        policy(validations=[{"expression": "params == null"}]),
        [("spec.validations[0].expression", "undeclared reference to 'params'")],
    ),
    "params with a kind": (
        "ValidatingAdmissionPolicy",
        policy(paramKind=PARAMS, validations=[{"expression": "params == null"}]),
        [],
    ),
    "conditions see no variables": (
        "MutatingAdmissionPolicy",
        policy(
            variables=[{"name": "a", "expression": "1"}], matchConditions=[{"expression": "variables.a == 1"}]
        ),
        [("spec.matchConditions[0].expression", "undeclared reference to 'variables'")],
    ),
    "mutations": (
        "MutatingAdmissionPolicy",
        policy(
            mutations=[
                {"jsonPatch": {"expression": "[JSONPatch{op: 'add', bogus: 1}]"}},
                {"applyConfiguration": {"expression": "[1]"}},
                {"applyConfiguration": {"expression": "Object{}"}},
            ]
        ),
        [
            ("spec.mutations[0].jsonPatch.expression", "undefined field 'bogus'"),
            ("spec.mutations[1].applyConfiguration.expression", "must evaluate to Object but got list(int)"),
        ],
    ),
    "what is missing is said elsewhere": (
        "ValidatingAdmissionPolicy",
        policy(validations=[{"expression": " "}]),
        [],
    ),
    "other kinds": ("ConfigMap", {"spec": {"validations": [{"expression": "x"}]}}, []),
}


@pytest.mark.parametrize(("kind", "obj", "expected"), CASES.values(), ids=CASES)
def test_expressions_are_compiled(kind: str, obj: Object, expected: list[tuple[str, str]]) -> None:
    errors = expression_errors(AdmissionExpressions(), kind, obj)
    assert [error.field for error in errors] == [field for field, _ in expected]
    for error, (_, why) in zip(errors, expected, strict=True):
        assert why in error.message
