"""Expressions of webhook configurations and admission policies that do not compile are refused."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "admissionregistration.k8s.io"
RULE = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "scope": "*",
}
MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [RULE]}
VALIDATING = {
    "metadata": {"name": "a", "resourceVersion": "1"},
    "spec": {"failurePolicy": "Fail", "matchConstraints": MATCH, "validations": [{"expression": "true"}]},
}
PATCH = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/x'}]"}}
MUTATING = {
    "metadata": {"name": "a", "resourceVersion": "1"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": MATCH,
        "mutations": [PATCH],
        "reinvocationPolicy": "Never",
    },
}
HOOK = {
    "name": "hook.example.com",
    "clientConfig": {"url": "https://localhost"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
WEBHOOKS = {"metadata": {"name": "a", "resourceVersion": "1"}, "webhooks": [HOOK]}
PARAMS = {"apiVersion": "v1", "kind": "ConfigMap"}
CONTAINER = " (in container '')"


def failed(text: str, place: int, source: str) -> str:
    return f"compilation failed: ERROR: <input>:1:{place}: {text}\n | {source}\n | {'.' * (place - 1)}^"


def unknown(name: str, place: int, source: str) -> str:
    return failed(f"undeclared reference to '{name}'{CONTAINER}", place, source)


def condition(expression: str) -> dict[str, str]:
    return {"name": "c", "expression": expression}


def applied(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


#: The spec of a validating policy, and the errors: field, expression, why.
VALIDATING_CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "variables see those before them": (
        {
            "variables": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}],
            "validations": [{"expression": "variables.b == 2"}],
        },
        [],
    ),
    "but not those after them": (
        {"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]},
        [("variables[0].expression", "variables.b", failed("undefined field 'b'", 10, "variables.b"))],
    ),
    "a broken variable can be anything": (
        {
            "variables": [{"name": "a", "expression": "x"}],
            "validations": [{"expression": "variables.a == 1"}],
        },
        [("variables[0].expression", "x", unknown("x", 1, "x"))],
    ),
    "there are no variables where none are declared": (
        {"validations": [{"expression": "variables.a"}]},
        [("validations[0].expression", "variables.a", unknown("variables", 1, "variables.a"))],
    ),
    "validations are true or false": (
        {"validations": [{"expression": "'x'"}]},
        [("validations[0].expression", "'x'", "must evaluate to bool but got string")],
    ),
    "messages are text": (
        {"validations": [{"expression": "true", "messageExpression": "1"}]},
        [("validations[0].messageExpression", "1", "must evaluate to string but got int")],
    ),
    "messages cannot ask the authorizer": (
        {"validations": [{"expression": "true", "messageExpression": "authorizer.path('/')"}]},
        [
            (
                "validations[0].messageExpression",
                "authorizer.path('/')",
                unknown("authorizer", 1, "authorizer.path('/')"),
            )
        ],
    ),
    "annotations are text or nothing, and shown as they were written": (
        {"auditAnnotations": [{"key": "k", "valueExpression": " true"}]},
        [
            (
                "auditAnnotations[0].valueExpression",
                " true",
                "must evaluate to one of [string null_type] but got bool",
            )
        ],
    ),
    "params need a kind": (
        {"validations": [{"expression": "params == null"}]},
        [("validations[0].expression", "params == null", unknown("params", 1, "params == null"))],
    ),
    "params with a kind": (
        {
            "paramKind": PARAMS,
            "matchConditions": [condition("params == null")],
            "validations": [{"expression": "params == null", "messageExpression": "string(params)"}],
        },
        [],
    ),
    "conditions see no variables": (
        {
            "variables": [{"name": "a", "expression": "1"}],
            "matchConditions": [condition(" variables.a == 1")],
        },
        [("matchConditions[0].expression", "variables.a == 1", unknown("variables", 1, "variables.a == 1"))],
    ),
    "namespaces have a uid in capitals": (
        {"validations": [{"expression": "namespaceObject.metadata.UID == ''"}]},
        [],
    ),
}
MUTATING_CASES: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "no operations at all": (
        {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}]},
        [("mutations[0].jsonPatch.expression", "[]", "must evaluate to list(JSONPatch) but got list(dyn)")],
    ),
    "something else than an object": (
        {"mutations": [applied(" [1] "), applied("Object{}")]},
        [("mutations[0].applyConfiguration.expression", "[1]", "must evaluate to Object but got list(int)")],
    ),
    "fields that operations do not have": (
        {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{bogus: 1}]"}}]},
        [
            (
                "mutations[0].jsonPatch.expression",
                "[JSONPatch{bogus: 1}]",
                failed("undefined field 'bogus'", 17, "[JSONPatch{bogus: 1}]"),
            )
        ],
    ),
}


def shown(expected: list[tuple[str, str, str]]) -> list[str]:
    return [f'spec.{field}: Invalid value: "{text}": {why}' for field, text, why in expected]


@pytest.mark.parametrize(("spec", "expected"), VALIDATING_CASES.values(), ids=VALIDATING_CASES)
def test_validating_policies(created: Any, spec: Any, expected: list[tuple[str, str, str]]) -> None:
    assert created(GROUP, "ValidatingAdmissionPolicy", VALIDATING, {"spec": spec}) == shown(expected)


@pytest.mark.parametrize(("spec", "expected"), MUTATING_CASES.values(), ids=MUTATING_CASES)
def test_mutating_policies(created: Any, spec: Any, expected: list[tuple[str, str, str]]) -> None:
    assert created(GROUP, "MutatingAdmissionPolicy", MUTATING, {"spec": spec}) == shown(expected)


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_conditions_of_webhooks(created: Any, updated: Any, kind: str) -> None:
    hook = {**HOOK, "matchConditions": [{"name": "good", "expression": "true"}, condition("params")]}
    broken = {"webhooks": [hook]}
    [error] = created(GROUP, kind, WEBHOOKS, broken)
    why = unknown("params", 1, "params")
    assert error == f'webhooks[0].matchConditions[1].expression: Invalid value: "params": {why}'
    assert len(updated(GROUP, kind, WEBHOOKS, broken)) == 1
    assert updated(GROUP, kind, {**WEBHOOKS, **broken}, {"metadata": {"labels": {"a": "b"}}}) == []


def test_a_constant_without_a_value_is_an_internal_error(created: Any) -> None:
    spec = {"validations": [{"expression": "uint(-1) == 1u"}]}
    assert created(GROUP, "ValidatingAdmissionPolicy", VALIDATING, {"spec": spec}) == [
        "spec.validations[0].expression: Internal error: program instantiation failed: unsigned integer overflow"
    ]
