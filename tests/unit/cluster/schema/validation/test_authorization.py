"""Reviews of access, and requests for tokens."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.validation.authorization import validate_review

RESOURCE = {"verb": "get", "resource": "pods", "namespace": "n"}
ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
WEBHOOK = {
    "kind": "ValidatingWebhookConfiguration",
    "apiVersion": "admissionregistration.k8s.io/v1",
    "name": "w",
}

CASES: dict[str, tuple[str, Any, list[str]]] = {
    "subject": ("SubjectAccessReview", {"spec": {"user": "u", "resourceAttributes": RESOURCE}}, []),
    "nobody asks for nothing": (
        "SubjectAccessReview",
        {"spec": {}},
        [
            f"spec: Invalid value: null: {ONE_OF}",
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ],
    ),
    "both attributes": (
        "SelfSubjectAccessReview",
        {"spec": {"resourceAttributes": RESOURCE, "nonResourceAttributes": {"path": "/x"}}},
        [f'spec: Invalid value: {{"Path":"/x","Verb":""}}: {ONE_OF}'],
    ),
    "named review": (
        "SelfSubjectAccessReview",
        {"metadata": {"name": "x"}, "spec": {"resourceAttributes": RESOURCE}},
        ['metadata: Invalid value: {"name":"x"}: must be empty'],
    ),
    "review of another namespace": (
        "LocalSubjectAccessReview",
        {"metadata": {"namespace": "m"}, "spec": {"groups": ["g"], "resourceAttributes": RESOURCE}},
        ['spec.resourceAttributes.namespace: Invalid value: "n": must match metadata.namespace'],
    ),
    "local review of a path": (
        "LocalSubjectAccessReview",
        {"metadata": {"namespace": "n"}, "spec": {"user": "u", "nonResourceAttributes": {"path": "/"}}},
        [
            'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: disallowed on this '
            "kind of request"
        ],
    ),
    "selectors": (
        "SelfSubjectAccessReview",
        {
            "spec": {
                "resourceAttributes": {
                    **RESOURCE,
                    "fieldSelector": {},
                    "labelSelector": {"rawSelector": "a", "requirements": [{"key": "k", "operator": "In"}]},
                }
            }
        },
        [
            "spec.resourceAttributes.fieldSelector.requirements: Required value: "
            "when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is "
            "required",
            'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": '
            "may not specified at the same time as requirements",
            "spec.resourceAttributes.labelSelector.requirements[0].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'",
        ],
    ),
    "good selectors": (
        "SelfSubjectAccessReview",
        {
            "spec": {
                "resourceAttributes": {
                    **RESOURCE,
                    "fieldSelector": {"rawSelector": "a=b"},
                    "labelSelector": {
                        "requirements": [
                            {"key": "k", "operator": "In", "values": ["v"]},
                            {"key": "k", "operator": "Exists"},
                            {"key": "k", "operator": "Newer"},
                        ]
                    },
                }
            }
        },
        [],
    ),
    "bad requirements": (
        "SelfSubjectAccessReview",
        {
            "spec": {
                "resourceAttributes": {
                    **RESOURCE,
                    "fieldSelector": {
                        "requirements": [
                            {"operator": "Exists"},
                            {"key": "k", "operator": "DoesNotExist", "values": ["v"]},
                            {"key": "k", "operator": "NotIn"},
                        ]
                    },
                }
            }
        },
        [
            "spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified",
            "spec.resourceAttributes.fieldSelector.requirements[1].values: Forbidden: "
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            "spec.resourceAttributes.fieldSelector.requirements[2].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'",
        ],
    ),
}


@pytest.mark.parametrize(("kind", "obj", "expected"), CASES.values(), ids=CASES)
def test_a_review_is_answered_or_refused(kind: str, obj: Any, expected: list[str]) -> None:
    assert [str(error) for error in validate_review("authorization.k8s.io", kind, obj)] == expected


TOKENS: dict[str, tuple[Any, list[str]]] = {
    "valid": ({"expirationSeconds": 3600}, []),
    "too short": (
        {"expirationSeconds": 599},
        ["spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"],
    ),
    "webhook": (
        {
            "expirationSeconds": 600,
            "audiences": ["a"],
            "boundObjectRef": WEBHOOK,
            "attestations": {"admissionReviewAPIGroups": ["*"]},
        },
        [],
    ),
    "webhook without audience": (
        {"expirationSeconds": 600, "boundObjectRef": WEBHOOK, "attestations": {"color": ["red"]}},
        [
            "spec.audiences: Invalid value: null: must be length 1 when bound to a webhook config",
            'spec.attestations[color]: Unsupported value: "color": supported values: '
            '"admissionReviewAPIGroups"',
        ],
    ),
    "attestation without webhook": (
        {"expirationSeconds": 600, "attestations": {"a": ["b"]}},
        [
            'spec.attestations: Invalid value: {"a":["b"]}: '
            "attestations may only be specified with a webhook bound object reference"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), TOKENS.values(), ids=TOKENS)
def test_a_token_request_is_answered_or_refused(spec: Any, expected: list[str]) -> None:
    errors = validate_review("authentication.k8s.io", "TokenRequest", {"spec": spec})
    assert [str(error) for error in errors] == expected


def test_reviews_without_rules_are_always_right() -> None:
    assert validate_review("authorization.k8s.io", "SelfSubjectRulesReview", {"spec": {}}) == []
