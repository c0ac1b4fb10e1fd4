"""Flow schemas and priority levels."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "flowcontrol.apiserver.k8s.io"
META = {"name": "a", "resourceVersion": "1"}
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
RULE = {"subjects": [{"kind": "User", "user": {"name": "u"}}], "resourceRules": [EVERYTHING]}
SCHEMA = {
    "metadata": META,
    "spec": {
        "matchingPrecedence": 500,
        "priorityLevelConfiguration": {"name": "p"},
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [RULE],
    },
    "status": {},
}
QUEUES = {"queues": 64, "handSize": 6, "queueLengthLimit": 50}
LIMITED = {"nominalConcurrencyShares": 30, "limitResponse": {"type": "Queue", "queuing": QUEUES}}
LEVEL = {"metadata": META, "spec": {"type": "Limited", "limited": LIMITED}, "status": {}}
VERBS = '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"'


def rule(**fields: Any) -> dict[str, Any]:
    return {"spec": {"rules": [{**RULE, **fields}]}}


def queuing(**fields: Any) -> dict[str, Any]:
    return {"spec": {"limited": {"limitResponse": {"queuing": fields}}}}


SCHEMAS: dict[str, tuple[Any, list[str]]] = {
    "valid": ({}, []),
    "precedence": (
        {"spec": {"matchingPrecedence": 1}},
        [
            "spec.matchingPrecedence: Invalid value: 1: "
            "only the schema named 'exempt' may have matchingPrecedence 1"
        ],
    ),
    "head": (
        {
            "spec": {
                "matchingPrecedence": 10001,
                "distinguisherMethod": {"type": "ByMood"},
                "priorityLevelConfiguration": {"name": None},
            }
        },
        [
            "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
            'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByMood"}: '
            'supported values: "ByNamespace", "ByUser"',
            "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
        ],
    ),
    "empty rule": (
        rule(subjects=[], resourceRules=[]),
        [
            "spec.rules[0].subjects: Required value: subjects must contain at least one value",
            "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has "
            "to be non-empty",
        ],
    ),
    "subjects": (
        rule(
            subjects=[
                {"kind": "Pod"},
                {"kind": "User", "group": {}},
                {"kind": "ServiceAccount", "serviceAccount": {}},
            ]
        ),
        [
            'spec.rules[0].subjects[0].kind: Unsupported value: "Pod": '
            'supported values: "Group", "ServiceAccount", "User"',
            "spec.rules[0].subjects[1].user: Required value: user is required when subject kind is 'User'",
            "spec.rules[0].subjects[1].group: Forbidden: group is forbidden when subject kind is not 'Group'",
            "spec.rules[0].subjects[2].serviceAccount.name: Required value",
            "spec.rules[0].subjects[2].serviceAccount.namespace: Required value: "
            "must specify namespace for service account",
        ],
    ),
    "resource rule": (
        rule(resourceRules=[{"verbs": ["eat"], "apiGroups": ["*", "apps"]}]),
        [
            f'spec.rules[0].resourceRules[0].verbs: Unsupported value: ["eat"]: supported values: {VERBS}',
            'spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","apps"]: '
            "if '*' is present, must not specify other api groups",
            "spec.rules[0].resourceRules[0].resources: Required value: "
            "resource rules must supply at least one resource",
            "spec.rules[0].resourceRules[0].namespaces: Required value: "
            "resource rules that are not cluster scoped must supply at least one namespace",
        ],
    ),
    "urls": (
        rule(
            nonResourceRules=[
                {"verbs": ["get"], "nonResourceURLs": ["x", "/a b", "/a//b", "/a*", "/a/*", "/"]}
            ]
        ),
        [
            'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "x": must start with slash',
            'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a b": must not '
            "contain white-space",
            'spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/a//b": must not '
            "contain double slash",
            'spec.rules[0].nonResourceRules[0].nonResourceURLs[3]: Invalid value: "/a*": wildcard '
            "can only do suffix matching",
        ],
    ),
}


@pytest.mark.parametrize(("patch", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_flow_schema_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "FlowSchema", SCHEMA, patch) == expected


LEVELS: dict[str, tuple[Any, list[str]]] = {
    "valid": ({}, []),
    "no type": (
        {"spec": {"type": None, "limited": None}},
        ["spec.type: Required value"],
    ),
    "limited without limits": ({"spec": {"limited": None}}, ["spec.limited: Required value"]),
    "exempt by another name": (
        {"spec": {"type": "Exempt", "exempt": {"lendablePercent": 101}}},
        [
            "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
            "spec.exempt.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
            "spec.limited: Forbidden",
        ],
    ),
    "both": ({"spec": {"exempt": {}}}, ["spec.exempt: Forbidden"]),
    "numbers": (
        {"spec": {"limited": {"nominalConcurrencyShares": -1, "borrowingLimitPercent": -1}}},
        [
            "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
            "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a "
            "non-negative integer",
        ],
    ),
    "reject with queues": (
        {"spec": {"limited": {"limitResponse": {"type": "Reject"}}}},
        ["spec.limited.limitResponse.queuing: Forbidden"],
    ),
    "queue without queues": (
        {"spec": {"limited": {"limitResponse": {"queuing": None}}}},
        ["spec.limited.limitResponse.queuing: Required value"],
    ),
    "hand larger than deck": (
        queuing(queues=4, queueLengthLimit=0),
        [
            "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: 0: must be positive",
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 6: should not be greater "
            "than queues (4)",
        ],
    ),
    "too much entropy": (
        queuing(queues=512, handSize=7),
        [
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 7: "
            "required entropy bits of deckSize 512 and handSize 7 should not be greater than 60"
        ],
    ),
}


@pytest.mark.parametrize(("patch", "expected"), LEVELS.values(), ids=LEVELS)
def test_a_priority_level_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created(GROUP, "PriorityLevelConfiguration", LEVEL, patch) == expected


def test_the_catch_all_level_is_what_it_is(created: Any) -> None:
    spec = {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
    }
    base = {"metadata": {"name": "catch-all"}, "spec": spec}
    assert created(GROUP, "PriorityLevelConfiguration", base, {}) == []
    patch = {"spec": {"limited": {"lendablePercent": 1}}}
    assert created(GROUP, "PriorityLevelConfiguration", base, patch) == [
        'spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":5,"LimitResponse":'
        '{"Type":"Reject","Queuing":null},"LendablePercent":1,"BorrowingLimitPercent":null},"Exempt":null}: '
        "spec of 'catch-all' must equal the fixed value"
    ]


def test_the_exempt_level_may_tune_its_share_only(created: Any) -> None:
    base = {"metadata": {"name": "exempt"}, "spec": {"type": "Exempt", "exempt": {"lendablePercent": 50}}}
    assert created(GROUP, "PriorityLevelConfiguration", base, {}) == []
    errors = created(GROUP, "PriorityLevelConfiguration", base, {"spec": {"type": "Limited"}})
    assert any(e.endswith("except the 'spec.exempt' field must equal the fixed value") for e in errors)


def test_the_exempt_schema_is_what_it_is(created: Any) -> None:
    masters = {"kind": "Group", "group": {"name": "system:masters"}}
    resources = {**EVERYTHING, "clusterScope": True}
    urls = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    rules = [{"subjects": [masters], "resourceRules": [resources], "nonResourceRules": [urls]}]
    spec = {"matchingPrecedence": 1, "priorityLevelConfiguration": {"name": "exempt"}, "rules": rules}
    base = {"metadata": {"name": "exempt"}, "spec": spec}
    assert created(GROUP, "FlowSchema", base, {}) == []
    [error] = created(GROUP, "FlowSchema", base, {"spec": {"matchingPrecedence": 2}})
    assert error.startswith(
        'spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":2,'
        '"DistinguisherMethod":null,"Rules":[{"Subjects":[{"Kind":"Group","User":null,'
    )
    assert error.endswith("spec of 'exempt' must equal the fixed value")


def test_conditions_are_listed_once(reported: Any) -> None:
    conditions = [{"type": "Dangling"}, {"type": "Dangling"}, {}]
    assert reported(GROUP, "FlowSchema", SCHEMA, {"status": {"conditions": conditions}}) == [
        'status.conditions[1].type: Duplicate value: "Dangling"',
        "status.conditions[2].type: Required value",
    ]
