"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from typing import Any

import pytest

METADATA = {"name": "a", "namespace": "default", "resourceVersion": "1"}
QUOTA: dict[str, Any] = {"metadata": METADATA, "spec": {"hard": {"pods": "10"}}, "status": {}}

QUOTAS = {
    "valid": ({"spec": {"hard": {"requests.cpu": "1", "hugepages-2Mi": "4Mi", "count/jobs.batch": "3"}}}, []),
    "unknown resource": (
        {"spec": {"hard": {"cheese": "1"}}},
        [
            'spec.hard[cheese]: Invalid value: "cheese": must be a standard resource type or fully qualified',
            'spec.hard[cheese]: Invalid value: "cheese": must be a standard resource for quota',
        ],
    ),
    "known resource but not for quotas": (
        {"spec": {"hard": {"storage": "1"}}},
        ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'],
    ),
    "negative and broken amounts": (
        {"spec": {"hard": {"cpu": "-1", "pods": "1500m"}}},
        [
            'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
            'spec.hard[pods]: Invalid value: "1500m": must be an integer',
        ],
    ),
    "unknown scope": (
        {"spec": {"scopes": ["Evil"]}},
        ['spec.scopes: Invalid value: ["Evil"]: unsupported scope'],
    ),
    "scopes that exclude each other": (
        {"spec": {"scopes": ["BestEffort", "NotBestEffort"]}},
        ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
    ),
    "scope without meaning for a resource": (
        {"spec": {"hard": {"cpu": "1", "services": "2", "count/x.y": "1"}, "scopes": ["BestEffort"]}},
        [
            'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
            'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
        ],
    ),
    "selector": (
        {
            "spec": {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In"},
                        {"scopeName": "Terminating", "operator": "In", "values": ["a"]},
                        {"scopeName": "BestEffort", "operator": "Exists", "values": ["a"]},
                        {"scopeName": "PriorityClass", "operator": "Near"},
                    ]
                }
            }
        },
        [
            "spec.scopeSelector.matchExpressions.values: Required value: "
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            'spec.scopeSelector.matchExpressions.operator: Invalid value: "In": '
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
            "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
            "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            'spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: '
            "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            'spec.scopeSelector.matchExpressions.operator: Invalid value: "Near": '
            "not a valid selector operator",
        ],
    ),
    "selector without meaning for a resource": (
        {
            "spec": {
                "hard": {"pods": None, "services": "1"},
                "scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort", "operator": "Exists"}]},
            }
        },
        [
            "spec.scopeSelector.matchExpressions: Invalid value: "
            '{"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"Exists","Values":null}]}: '
            "unsupported scope applied to resource"
        ],
    ),
    "status of the uncountable": (
        {"status": {"hard": {"odd": "1"}}},
        [
            'status.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
            'status.hard[odd]: Invalid value: "odd": must be a standard resource for quota',
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", QUOTAS.values(), ids=QUOTAS)
def test_quota_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "ResourceQuota", QUOTA, patch) == expected


def test_scopes_stay(updated: Any) -> None:
    assert updated("", "ResourceQuota", QUOTA, {"spec": {"hard": {"pods": "20"}}}) == []
    assert updated("", "ResourceQuota", QUOTA, {"spec": {"scopes": ["Terminating"]}}) == [
        'spec.scopes: Invalid value: ["Terminating"]: field is immutable'
    ]


def test_status_counts_what_quotas_count(reported: Any) -> None:
    assert reported("", "ResourceQuota", QUOTA, {"status": {"hard": {"pods": "1"}, "used": {"x": "-1"}}}) == [
        'status.used[x]: Invalid value: "x": must be a standard resource type or fully qualified',
        'status.used[x]: Invalid value: "x": must be a standard resource for quota',
        'status.used[x]: Invalid value: "-1": must be greater than or equal to 0',
    ]


def limits(**limit: Any) -> dict[str, Any]:
    return {"spec": {"limits": [{"type": "Container", **limit}]}}


LIMITS = {
    "valid": (limits(max={"cpu": "2"}, min={"cpu": "1"}, default={"cpu": "1500m"}), []),
    "unknown type": (
        limits(type="Node"),
        ['spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified'],
    ),
    "same type twice": (
        {"spec": {"limits": [{"type": "Pod"}, {"type": "Pod"}]}},
        ['spec.limits[1].type: Duplicate value: "Pod"'],
    ),
    "not for containers": (
        limits(max={"storage": "1"}),
        ['spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers'],
    ),
    "pods have no defaults": (
        limits(type="Pod", default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
        [
            "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
            "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
        ],
    ),
    "claims need a size": (
        limits(type="PersistentVolumeClaim"),
        [
            "spec.limits[0].limits: Required value: "
            "either minimum or maximum storage value is required, but neither was provided"
        ],
    ),
    "min above max": (
        limits(min={"cpu": "2"}, max={"cpu": "1"}),
        ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
    ),
    "defaults outside": (
        limits(min={"cpu": "2"}, max={"cpu": "3"}, default={"cpu": "1"}, defaultRequest={"cpu": "4"}),
        [
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "4": '
            "default request value 4 is greater than max value 3",
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "4": '
            "default request value 4 is greater than default limit value 1",
            'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
        ],
    ),
    "default above max shows the max": (
        limits(max={"cpu": "3"}, default={"cpu": "4"}),
        ['spec.limits[0].default[cpu]: Invalid value: "3": default value 4 is greater than max value 3'],
    ),
    "ratio below one": (
        limits(maxLimitRequestRatio={"cpu": "500m"}),
        ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
    ),
    "ratio above what max and min allow": (
        limits(min={"cpu": "1"}, max={"cpu": "1500m"}, maxLimitRequestRatio={"cpu": "2"}),
        [
            'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "2": '
            "ratio 2 is greater than max/min = 1.500000"
        ],
    ),
    "devices are not overcommitted": (
        limits(default={"example.com/gpu": "2"}, defaultRequest={"example.com/gpu": "1"}),
        [
            'spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: "1": '
            "default value 2 must equal to defaultRequest value 1 in example.com/gpu"
        ],
    ),
    "ratio without minimum": (
        limits(type="Container", min={"cpu": "0"}, max={"cpu": "1"}, maxLimitRequestRatio={"cpu": "9"}),
        [],
    ),
}


@pytest.mark.parametrize("patch, expected", LIMITS.values(), ids=LIMITS)
def test_limit_range_is_accepted_or_refused(
    created: Any, updated: Any, patch: Any, expected: list[str]
) -> None:
    base = {"metadata": METADATA, "spec": {"limits": None}}
    assert created("", "LimitRange", base, patch) == expected
    assert updated("", "LimitRange", base, patch) == expected
