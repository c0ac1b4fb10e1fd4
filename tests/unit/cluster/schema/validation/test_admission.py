"""Webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "admissionregistration.k8s.io"
META = {"name": "a", "resourceVersion": "1"}
RULE = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "scope": "*",
}
HOOK = {
    "name": "hook.example.com",
    "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 443}},
    "rules": [RULE],
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "sideEffects": "None",
    "timeoutSeconds": 10,
    "admissionReviewVersions": ["v1"],
    "namespaceSelector": {},
    "objectSelector": {},
}
WEBHOOKS = {"metadata": META, "webhooks": [HOOK]}
MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [RULE]}
POLICY = {
    "metadata": META,
    "spec": {"failurePolicy": "Fail", "matchConstraints": MATCH, "validations": [{"expression": "true"}]},
    "status": {},
}
BINDING = {"metadata": META, "spec": {"policyName": "a", "validationActions": ["Deny"]}}
MUTATION = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/spec'}]"}}
MUTATING = {
    "metadata": META,
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": MATCH,
        "mutations": [MUTATION],
        "reinvocationPolicy": "Never",
    },
}
MUTATING_BINDING = {"metadata": META, "spec": {"policyName": "a"}}
FORM = "; desired format: https://host[/path]"
OPERATIONS = '"*", "CONNECT", "CREATE", "DELETE", "UPDATE"'


def hook(**fields: Any) -> dict[str, Any]:
    return {"webhooks": [{**HOOK, **fields}]}


def url(text: str) -> dict[str, Any]:
    return hook(clientConfig={"url": text})


def service(**fields: Any) -> dict[str, Any]:
    return hook(clientConfig={"service": {"namespace": "n", "name": "s", "port": 443, **fields}})


def resources(*names: str) -> dict[str, Any]:
    return hook(rules=[{**RULE, "resources": list(names)}])


HOOKS: dict[str, tuple[Any, list[str]]] = {
    "valid": ({}, []),
    "no name": (hook(name=""), ["webhooks[0].name: Required value"]),
    "short name": (
        hook(name="a.b"),
        [
            'webhooks[0].name: Invalid value: "a.b": '
            "should be a domain with at least three segments separated by dots"
        ],
    ),
    "choices": (
        hook(failurePolicy="Panic", matchPolicy="Any", sideEffects="Some", timeoutSeconds=31),
        [
            'webhooks[0].failurePolicy: Unsupported value: "Panic": supported values: "Fail", "Ignore"',
            'webhooks[0].matchPolicy: Unsupported value: "Any": supported values: "Equivalent", "Exact"',
            'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and "
            "30 seconds",
        ],
    ),
    "no side effects": (
        hook(sideEffects=None),
        ["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"],
    ),
    "no versions": (
        hook(admissionReviewVersions=[]),
        ["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
    ),
    "unknown versions": (
        hook(admissionReviewVersions=["v2", "v2"]),
        [
            'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
            'webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least '
            "one of v1, v1beta1",
        ],
    ),
    "name twice": ({"webhooks": [HOOK, HOOK]}, ['webhooks[1].name: Duplicate value: "hook.example.com"']),
    "nowhere": (
        hook(clientConfig={}),
        ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
    ),
    "url": (
        url("http://u@/x?q#f"),
        [
            f"webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL "
            f"scheme{FORM}",
            f'webhooks[0].clientConfig.url: Invalid value: "": host must be specified{FORM}',
            'webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
            'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
            'webhooks[0].clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
        ],
    ),
    "service without a namespace": (
        service(namespace=""),
        ["webhooks[0].clientConfig.service.name: Required value"],
    ),
    "service port": (
        service(port=0),
        [
            "webhooks[0].clientConfig.service.port: Invalid value: 0: "
            "port is not valid: must be between 1 and 65535, inclusive"
        ],
    ),
    "service path": (
        service(path="/a//b"),
        ['webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty'],
    ),
    "empty rule": (
        hook(rules=[{}]),
        [
            "webhooks[0].rules[0].operations: Required value",
            "webhooks[0].rules[0].apiGroups: Required value",
            "webhooks[0].rules[0].apiVersions: Required value",
            "webhooks[0].rules[0].resources: Required value",
        ],
    ),
    "rule": (
        hook(rules=[{**RULE, "operations": ["*", "EAT"], "apiGroups": ["*", "a"], "scope": "All"}]),
        [
            'webhooks[0].rules[0].operations: Invalid value: ["*","EAT"]: '
            "if '*' is present, must not specify other operations",
            f'webhooks[0].rules[0].operations[1]: Unsupported value: "EAT": supported values: {OPERATIONS}',
            'webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: '
            "if '*' is present, must not specify other API groups",
            'webhooks[0].rules[0].scope: Unsupported value: "All": supported values: "*", "Cluster", '
            '"Namespaced"',
        ],
    ),
    "everything": (hook(rules=[{**RULE, "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"]}]), []),
    "two operations": (hook(rules=[{**RULE, "operations": ["CREATE", "UPDATE"]}]), []),
    "covered subresource": (
        resources("pods/*", "pods/log"),
        [
            'webhooks[0].rules[0].resources[1]: Invalid value: "pods/log": '
            "if 'pods/*' is present, must not specify pods/log"
        ],
    ),
    "covered resource": (
        resources("*", "pods"),
        [
            'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: '
            "if '*' is present, must not specify other resources without subresources"
        ],
    ),
    "match conditions": (
        hook(matchConditions=[{"name": "a", "expression": "true"}, {"name": "a"}]),
        [
            "webhooks[0].matchConditions[1].expression: Required value",
            'webhooks[0].matchConditions[1].name: Duplicate value: "a"',
        ],
    ),
}


@pytest.mark.parametrize(("patch", "expected"), HOOKS.values(), ids=HOOKS)
def test_webhooks_are_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "ValidatingWebhookConfiguration", WEBHOOKS, patch) == expected


def test_reinvocation_is_a_choice_of_mutating_webhooks(created: Any) -> None:
    assert created(GROUP, "MutatingWebhookConfiguration", WEBHOOKS, hook(reinvocationPolicy="Always")) == [
        'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'
    ]


def test_an_update_is_not_asked_for_more_than_was_kept(updated: Any) -> None:
    old = {"metadata": META, **hook(sideEffects="Some", admissionReviewVersions=["v9"])}
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert updated(GROUP, "ValidatingWebhookConfiguration", old, patch) == []
    assert len(updated(GROUP, "ValidatingWebhookConfiguration", WEBHOOKS, hook(sideEffects="Some"))) == 1


CASES: dict[str, tuple[str, Any, Any, list[str]]] = {
    "policy": ("ValidatingAdmissionPolicy", POLICY, {}, []),
    "empty policy": (
        "ValidatingAdmissionPolicy",
        POLICY,
        {"spec": {"failurePolicy": None, "matchConstraints": None, "validations": None}},
        [
            "spec.failurePolicy: Required value",
            "spec.matchConstraints: Required value",
            "spec.validations: Required value: validations or auditAnnotations must contain at least "
            "one item",
            "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at "
            "least one item",
        ],
    ),
    "constraints": (
        "ValidatingAdmissionPolicy",
        POLICY,
        {"spec": {"matchConstraints": {"namespaceSelector": None, "resourceRules": None}}},
        [
            "spec.matchConstraints.namespaceSelector: Required value",
            "spec.matchConstraints.resourceRules: Required value",
        ],
    ),
    "parameters": (
        "ValidatingAdmissionPolicy",
        POLICY,
        {"spec": {"paramKind": {"apiVersion": "a/b/c"}}},
        [
            'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
            "spec.paramKind.kind: Required value",
        ],
    ),
    "variables": (
        "ValidatingAdmissionPolicy",
        POLICY,
        {"spec": {"variables": [{"name": "for", "expression": "1"}, {"name": "x"}]}},
        [
            'spec.variables[0].name: Invalid value: "for": must be a valid CEL identifier',
            "spec.variables[1].expression: Required value: expression is not specified",
        ],
    ),
    "validations": (
        "ValidatingAdmissionPolicy",
        POLICY,
        {"spec": {"validations": [{"message": "a\nb", "messageExpression": " ", "reason": "Whim"}]}},
        [
            "spec.validations[0].expression: Required value: expression is not specified",
            'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
            'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
            'spec.validations[0].reason: Unsupported value: "Whim": '
            'supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        ],
    ),
    "annotations": (
        "ValidatingAdmissionPolicy",
        POLICY,
        {"spec": {"auditAnnotations": [{"key": "k", "valueExpression": "'v'"}, {"key": "k"}]}},
        [
            "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
            'spec.auditAnnotations[1].key: Duplicate value: "k"',
        ],
    ),
    "binding": ("ValidatingAdmissionPolicyBinding", BINDING, {}, []),
    "empty binding": (
        "ValidatingAdmissionPolicyBinding",
        BINDING,
        {"spec": {"policyName": None, "validationActions": None}},
        ["spec.policyName: Required value", "spec.validationActions: Required value"],
    ),
    "parameter reference": (
        "ValidatingAdmissionPolicyBinding",
        BINDING,
        {"spec": {"paramRef": {"name": "n", "selector": {}}}},
        [
            "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.parameterNotFoundAction: Required value",
        ],
    ),
    "actions": (
        "ValidatingAdmissionPolicyBinding",
        BINDING,
        {"spec": {"validationActions": ["Deny", "Warn", "Warn", "Shout"]}},
        [
            'spec.validationActions[2]: Duplicate value: "Warn"',
            'spec.validationActions[3]: Unsupported value: "Shout": supported values: "Audit", '
            '"Deny", "Warn"',
            'spec.validationActions: Invalid value: ["Deny","Warn","Warn","Shout"]: must not contain '
            "both Deny and "
            "Warn (repeating the same validation failure information in the API response and headers "
            "serves no purpose)",
        ],
    ),
    "mutating policy": ("MutatingAdmissionPolicy", MUTATING, {}, []),
    "mutations": (
        "MutatingAdmissionPolicy",
        MUTATING,
        {
            "spec": {
                "matchConstraints": {"resourceRules": [{**RULE, "operations": ["DELETE"]}]},
                "mutations": [{"patchType": "ApplyConfiguration", "jsonPatch": {}}, {"patchType": "Magic"}],
                "reinvocationPolicy": None,
            }
        },
        [
            'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": '
            'supported values: "*", "CONNECT", "CREATE", "UPDATE"',
            "spec.mutations[0].applyConfiguration: Required value: "
            "must be specified when patchType is ApplyConfiguration",
            'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": '
            "must not be specified when patchType is ApplyConfiguration",
            'spec.mutations[1].patchType: Unsupported value: "Magic": '
            'supported values: "ApplyConfiguration", "JSONPatch"',
            "spec.reinvocationPolicy: Required value",
        ],
    ),
    "mutating binding": (
        "MutatingAdmissionPolicyBinding",
        MUTATING_BINDING,
        {"spec": {"policyName": None}},
        ["spec.policyName: Required value"],
    ),
}


@pytest.mark.parametrize(("kind", "base", "patch", "expected"), CASES.values(), ids=CASES)
def test_policies_and_bindings_are_created_or_refused(
    created: Any, kind: str, base: Any, patch: Any, expected: list[str]
) -> None:
    assert created(GROUP, kind, base, patch) == expected


def test_warnings_of_expressions_are_complete(reported: Any) -> None:
    patch = {"status": {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec"}]}}}
    assert reported(GROUP, "ValidatingAdmissionPolicy", POLICY, patch) == [
        "status.typeChecking.expressionWarnings[0].warning: Required value"
    ]
