"""Groups of one or two kinds: policy, coordination, scheduling, node, storagemigration, apiregistration."""

from __future__ import annotations

from typing import Any

import pytest

META = {"name": "a", "resourceVersion": "1"}
NAMESPACED = {**META, "namespace": "n"}
BUDGET = {
    "metadata": NAMESPACED,
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
    "status": {},
}
LEASE = {"metadata": NAMESPACED, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}
PRIORITY = {"metadata": META, "value": 5, "preemptionPolicy": "PreemptLowerPriority"}
RUNTIME = {"metadata": META, "handler": "runc"}
MIGRATION = {
    "metadata": META,
    "spec": {"resource": {"group": "apps", "resource": "deployments"}},
    "status": {},
}
SERVICE = {
    "metadata": {"name": "v1.g.io", "resourceVersion": "1"},
    "spec": {
        "group": "g.io",
        "version": "v1",
        "groupPriorityMinimum": 10,
        "versionPriority": 10,
        "service": {"namespace": "n", "name": "s", "port": 443},
    },
    "status": {},
}
KINDS: dict[str, tuple[str, str, Any]] = {
    "budget": ("policy", "PodDisruptionBudget", BUDGET),
    "lease": ("coordination.k8s.io", "Lease", LEASE),
    "priority": ("scheduling.k8s.io", "PriorityClass", PRIORITY),
    "runtime": ("node.k8s.io", "RuntimeClass", RUNTIME),
    "migration": ("storagemigration.k8s.io", "StorageVersionMigration", MIGRATION),
    "service": ("apiregistration.k8s.io", "APIService", SERVICE),
}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
RESERVED = "Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "


@pytest.mark.parametrize("what", KINDS)
def test_a_valid_object_is_created_and_updated(created: Any, updated: Any, what: str) -> None:
    assert created(*KINDS[what], {}) == []
    assert updated(*KINDS[what], {"metadata": {"labels": {"a": "b"}}}) == []


CREATED: dict[str, tuple[str, Any, list[str]]] = {
    "budget of any name": ("budget", {"metadata": {"name": "Any_Name"}}, []),
    "both bounds": (
        "budget",
        {"spec": {"maxUnavailable": "20%", "selector": None}},
        [
            'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"20%",'
            '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set'
        ],
    ),
    "negative bound": (
        "budget",
        {"spec": {"minAvailable": -1}},
        ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "budget with labels that are wrong too": (
        "budget",
        {"metadata": {"labels": {"a": "-"}}, "spec": {"minAvailable": -1}},
        ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "service of another name with labels that are wrong too": (
        "service",
        {"metadata": {"name": "v2.g.io", "finalizers": ["a_"]}},
        [
            'metadata.name: Invalid value: "v2.g.io": must be `spec.version+"."+spec.group`: "v1.g.io"',
            'metadata.finalizers: Invalid value: "a_": name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
            "'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    ),
    "more than all": (
        "budget",
        {"spec": {"minAvailable": "101%"}},
        ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    "no percentage": (
        "budget",
        {"spec": {"minAvailable": "1"}},
        [
            'spec.minAvailable: Invalid value: "1": a valid percent string must be a numeric string '
            "followed by an "
            "ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        ],
    ),
    "eviction policy": (
        "budget",
        {"spec": {"unhealthyPodEvictionPolicy": "Never"}},
        [
            'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": '
            'supported values: "AlwaysAllow", "IfHealthyBudget"'
        ],
    ),
    "lease numbers": (
        "lease",
        {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}},
        [
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    "lease strategy": (
        "lease",
        {"spec": {"strategy": "Mine"}},
        [
            'spec.strategy.strategy: Unsupported value: "Mine": supported values: "OldestEmulationVersion"',
        ],
    ),
    "somebody's lease strategy": ("lease", {"spec": {"strategy": "example.com/mine"}}, []),
    "preferred holder": (
        "lease",
        {"spec": {"preferredHolder": "you"}},
        ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
    ),
    "priority too high": (
        "priority",
        {"value": 1000000001},
        ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ),
    "unknown system priority": (
        "priority",
        {"metadata": {"name": "system-mine"}},
        [f"metadata.name: {RESERVED}system-mine is not a known system priority class"],
    ),
    "system priority of another value": (
        "priority",
        {"metadata": {"name": "system-node-critical"}},
        [f"metadata.name: {RESERVED}value of system-node-critical PriorityClass must be 2000001000"],
    ),
    "system priority": (
        "priority",
        {"metadata": {"name": "system-cluster-critical"}, "value": 2000000000},
        [],
    ),
    "preemption policy": (
        "priority",
        {"preemptionPolicy": "Sometimes"},
        [
            'preemptionPolicy: Unsupported value: "Sometimes": supported values: '
            '"PreemptLowerPriority", "Never"'
        ],
    ),
    "no handler": ("runtime", {"handler": None}, ["handler: Required value"]),
    "long handler": (
        "runtime",
        {"handler": "a" * 64},
        [f'handler: Invalid value: "{"a" * 64}": must be no more than 63 bytes'],
    ),
    "bad handler": ("runtime", {"handler": "A"}, [f'handler: Invalid value: "A": {LABEL}']),
    "negative overhead": (
        "runtime",
        {"overhead": {"podFixed": {"cpu": "-1"}}},
        ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "tolerations twice": (
        "runtime",
        {
            "scheduling": {
                "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "Exists"}]
            }
        },
        [
            "scheduling.tolerations[1]: Duplicate value: "
            '{"Key":"a","Operator":"Exists","Value":"","Effect":"",'
            '"TolerationSeconds":null}'
        ],
    ),
    "nothing to migrate": (
        "migration",
        {"spec": {"resource": {"resource": None}}},
        ["spec.resource.resource: Required value: resource is required to be set"],
    ),
    "service name": (
        "service",
        {"metadata": {"name": "v2.g.io"}},
        ['metadata.name: Invalid value: "v2.g.io": must be `spec.version+"."+spec.group`: "v1.g.io"'],
    ),
    "priorities": (
        "service",
        {"spec": {"groupPriorityMinimum": 20001, "versionPriority": None}},
        [
            "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
            "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
        ],
    ),
    "local service with a certificate": (
        "service",
        {"spec": {"service": None, "caBundle": "YWJj", "insecureSkipTLSVerify": True}},
        [
            'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
            "spec.insecureSkipTLSVerify: Invalid value: true: "
            "local APIServices may not have insecureSkipTLSVerify",
        ],
    ),
    "legacy service": (
        "service",
        {"metadata": {"name": "v1."}, "spec": {"group": None, "version": "v1"}},
        [],
    ),
    "service without group": (
        "service",
        {"metadata": {"name": "v2."}, "spec": {"group": None, "version": "v2"}},
        ["spec.group: Required value: only v1 may have an empty group and it better be legacy kube"],
    ),
    "service of a malformed group": (
        "service",
        {"metadata": {"name": "v1.g_"}, "spec": {"group": "g_", "version": "v1"}},
        [
            'spec.group: Invalid value: "g_": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ],
    ),
    "service with a certificate": (
        "service",
        {"spec": {"caBundle": "YWJj", "insecureSkipTLSVerify": None}},
        [],
    ),
    "service at no port": (
        "service",
        {"spec": {"service": {"port": 0}}},
        ["spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"],
    ),
    "insecure service": ("service", {"spec": {"caBundle": None, "insecureSkipTLSVerify": True}}, []),
    "insecure with a certificate": (
        "service",
        {"spec": {"service": {"name": None}, "caBundle": "YWJj", "insecureSkipTLSVerify": True}},
        [
            "spec.service.name: Required value",
            "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
        ],
    ),
}


@pytest.mark.parametrize(("what", "patch", "expected"), CREATED.values(), ids=CREATED)
def test_a_wrong_object_is_refused(created: Any, what: str, patch: Any, expected: list[str]) -> None:
    assert created(*KINDS[what], patch) == expected


UPDATED: dict[str, tuple[str, Any, list[str]]] = {
    "priority": (
        "priority",
        {"value": 6, "preemptionPolicy": "Never"},
        [
            "value: Forbidden: may not be changed in an update.",
            'preemptionPolicy: Invalid value: "Never": field is immutable',
        ],
    ),
    "handler": ("runtime", {"handler": "crun"}, ["handler: Invalid value: null: field is immutable"]),
    "bad handler": (
        "runtime",
        {"handler": "A"},
        [f'handler: Invalid value: "A": {LABEL}', "handler: Invalid value: null: field is immutable"],
    ),
    "migration": (
        "migration",
        {"spec": {"resource": {"resource": "pods"}}},
        ['spec: Invalid value: {"Resource":{"group":"apps","resource":"pods"}}: field is immutable'],
    ),
}


@pytest.mark.parametrize(("what", "patch", "expected"), UPDATED.values(), ids=UPDATED)
def test_what_may_not_change(updated: Any, what: str, patch: Any, expected: list[str]) -> None:
    assert updated(*KINDS[what], patch) == expected


def condition(kind: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}


REPORTED: dict[str, tuple[str, Any, list[str]]] = {
    "budget": (
        "budget",
        {"status": {"expectedPods": -1}},
        ["status.expectedPods: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "migration version": (
        "migration",
        {"status": {"resourceVersion": "07"}},
        ['status.resourceVersion: Invalid value: "07": resource version is not well formed: 07'],
    ),
    "migration condition": ("migration", {"status": {"conditions": [condition("Succeeded")]}}, []),
    "service condition": (
        "service",
        {"status": {"conditions": [{"type": "Available", "status": "Yes"}]}},
        [
            'status.conditions[0].status: Unsupported value: "Yes": supported values: "True", '
            '"False", "Unknown"'
        ],
    ),
}


@pytest.mark.parametrize(("what", "patch", "expected"), REPORTED.values(), ids=REPORTED)
def test_status_is_accepted_or_refused(reported: Any, what: str, patch: Any, expected: list[str]) -> None:
    assert reported(*KINDS[what], patch) == expected


def test_a_migration_ends_once_and_in_one_way(reported: Any) -> None:
    conditions = [condition("Succeeded"), condition("Failed")]
    [error] = reported(*KINDS["migration"], {"status": {"conditions": conditions}})
    assert error.endswith("Both success and failed conditions cannot be true at the same time")
    done = {**MIGRATION, "status": {"conditions": [condition("Succeeded")]}}
    group, kind, _ = KINDS["migration"]
    assert reported(group, kind, done, {"status": {"conditions": None}}) == [
        "status.conditions: Invalid value: null: Success condition cannot be set to false once it is true"
    ]


def test_api_services_may_have_any_finalizer(updated: Any) -> None:
    finalizers = {"metadata": {"finalizers": ["mine"]}}
    assert updated(*KINDS["service"], finalizers) == []
    assert updated(*KINDS["priority"], finalizers) != []


def test_a_handler_of_a_wrong_form_may_stay(updated: Any) -> None:
    group, kind, base = KINDS["runtime"]
    assert updated(group, kind, {**base, "handler": "B_"}, {"metadata": {"labels": {"a": "b"}}}) == []
    form, immutable = updated(group, kind, base, {"handler": "B_"})
    assert form == f'handler: Invalid value: "B_": {LABEL}'
    assert immutable == "handler: Invalid value: null: field is immutable"


def test_a_migration_keeps_the_version_it_began_at(reported: Any) -> None:
    group, kind, base = KINDS["migration"]
    begun = {**base, "status": {"resourceVersion": "5"}}
    assert reported(group, kind, begun, {"status": {"conditions": [condition("Running")]}}) == []
    assert reported(group, kind, begun, {"status": {"resourceVersion": "6"}}) == [
        'status.resourceVersion: Invalid value: "6": field is immutable'
    ]
