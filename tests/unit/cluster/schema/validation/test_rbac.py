"""Roles and bindings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.recordings import FACTS

GROUP = "rbac.authorization.k8s.io"
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
ROLE = {"metadata": {"name": "r", "namespace": "n", "resourceVersion": "1"}, "rules": [RULE]}
CLUSTER_ROLE = {"metadata": {"name": "r:x", "resourceVersion": "1"}, "rules": [RULE]}
USER = {"kind": "User", "apiGroup": GROUP, "name": "u"}
BINDING = {
    "metadata": {"name": "b", "namespace": "n", "resourceVersion": "1"},
    "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"},
    "subjects": [USER],
}
CLUSTER_BINDING = {
    "metadata": {"name": "b", "resourceVersion": "1"},
    "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
    "subjects": [USER],
}


@pytest.mark.parametrize(
    ("kind", "base", "patch", "expected"),
    [
        pytest.param("Role", ROLE, {}, [], id="role"),
        pytest.param("ClusterRole", CLUSTER_ROLE, {}, [], id="cluster-role"),
        pytest.param(
            "Role",
            ROLE,
            {"rules": [{"resources": ["pods"]}]},
            [
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].verbs: Required value",
            ],
            id="empty-rule",
        ),
        pytest.param(
            "Role",
            ROLE,
            {"rules": [{"nonResourceURLs": ["/x"], "resources": ["pods"], "verbs": ["get"]}]},
            [
                'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to '
                "non-resource URLs",
                'rules[0].nonResourceURLs: Invalid value: ["/x"]: '
                "rules cannot apply to both regular resources and non-resource URLs",
            ],
            id="urls-in-a-namespace",
        ),
        pytest.param(
            "ClusterRole",
            CLUSTER_ROLE,
            {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
            [],
            id="urls-in-the-cluster",
        ),
        pytest.param(
            "ClusterRole",
            CLUSTER_ROLE,
            {"aggregationRule": {}},
            [
                "aggregationRule.clusterRoleSelectors: Required value: "
                "at least one clusterRoleSelector required if aggregationRule is non-nil"
            ],
            id="empty-aggregation",
        ),
        pytest.param(
            "ClusterRole",
            CLUSTER_ROLE,
            {
                "aggregationRule": {
                    "clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]
                }
            },
            [
                "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: "
                "must be specified when `operator` is 'In' or 'NotIn'",
                "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
            ],
            id="bad-aggregation",
        ),
        pytest.param(
            "RoleBinding",
            BINDING,
            {"roleRef": {"apiGroup": "x", "kind": "Pod", "name": None}},
            [
                f'roleRef.apiGroup: Unsupported value: "x": supported values: "{GROUP}"',
                'roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"',
                "roleRef.name: Required value",
            ],
            id="wrong-reference",
        ),
        pytest.param(
            "RoleBinding",
            BINDING,
            {"roleRef": {"name": "a/b"}},
            ["roleRef.name: Invalid value: \"a/b\": may not contain '/'"],
            id="reference-with-slash",
        ),
        pytest.param(
            "ClusterRoleBinding",
            CLUSTER_BINDING,
            {
                "roleRef": {"kind": "Role"},
                "subjects": [
                    {"kind": "ServiceAccount", "name": "s", "apiGroup": "x"},
                    {"kind": "Group"},
                    {"kind": "Pod", "name": "p"},
                ],
            },
            [
                'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
                'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
                "subjects[0].namespace: Required value",
                f'subjects[1].apiGroup: Unsupported value: "": supported values: "{GROUP}"',
                'subjects[2].kind: Unsupported value: "Pod": supported values: "ServiceAccount", '
                '"User", "Group"',
                "subjects[1].name: Required value",
            ],
            id="wrong-subjects",
        ),
        pytest.param(
            "RoleBinding",
            BINDING,
            {"subjects": [{"kind": "ServiceAccount", "name": "s"}]},
            [],
            id="account-of-the-bindings-namespace",
        ),
        pytest.param(
            "ClusterRoleBinding",
            CLUSTER_BINDING,
            {"subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}]},
            [],
            id="account-with-namespace",
        ),
        pytest.param(
            "RoleBinding",
            BINDING,
            {"subjects": [{"kind": "ServiceAccount", "name": "S_"}, {"kind": "ServiceAccount"}]},
            [
                'subjects[0].name: Invalid value: "S_": a lowercase RFC 1123 subdomain must consist of '
                "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
                "character (e.g. 'example.com', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                "subjects[1].name: Required value",
            ],
            id="malformed-account",
        ),
    ],
)
def test_roles_and_bindings_are_created_or_refused(
    created: Any, kind: str, base: Any, patch: Any, expected: list[str]
) -> None:
    assert created(GROUP, kind, base, patch) == expected


def test_a_binding_keeps_its_role(updated: Any) -> None:
    assert updated(GROUP, "RoleBinding", BINDING, {"subjects": []}) == []
    assert updated(GROUP, "RoleBinding", BINDING, {"roleRef": {"name": "other"}}) == [
        f'roleRef: Invalid value: {{"APIGroup":"{GROUP}","Kind":"Role","Name":"other"}}: field is immutable'
    ]


def test_a_subject_that_loses_its_name_is_refused(updated: Any) -> None:
    nameless = {"subjects": [{"kind": "User", "apiGroup": GROUP}]}
    assert updated(GROUP, "RoleBinding", BINDING, nameless) == ["subjects[0].name: Required value"]
    # One that was stored without stays.
    old = {**BINDING, **nameless}
    assert updated(GROUP, "RoleBinding", old, {"metadata": {"labels": {"a": "b"}}}) == []


def test_a_reference_that_loses_its_name_changes(updated: Any) -> None:
    assert updated(GROUP, "RoleBinding", BINDING, {"roleRef": {"name": None}}) == [
        "roleRef.name: Required value",
        f'roleRef: Invalid value: {{"APIGroup":"{GROUP}","Kind":"Role","Name":""}}: field is immutable',
    ]


def test_a_rule_that_loses_its_verbs_is_refused(updated: Any) -> None:
    patch = {"rules": [{"apiGroups": [""], "resources": ["pods"]}]}
    assert updated(GROUP, "Role", ROLE, patch) == ["rules[0].verbs: Required value"]


def test_the_roles_of_a_fresh_cluster_are_valid(created: Any) -> None:
    facts = json.loads((FACTS / "rbac-bootstrap.json").read_text())
    roles = [*facts["clusterroles"], *facts["roles"]]
    assert len(roles) > 50
    for role in roles:
        metadata = {key: role[key] for key in ("name", "namespace", "labels") if key in role}
        obj: dict[str, Any] = {"metadata": metadata, "rules": role.get("rules", [])}
        if "aggregate" in role:
            obj["aggregationRule"] = {"clusterRoleSelectors": role["aggregate"]}
        kind = "Role" if "namespace" in role else "ClusterRole"
        assert created(GROUP, kind, obj, {}) == [], role["name"]
