"""Which requests an audit policy wants, and what a bad policy file is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.apiserver.audit.auditor import load_policy
from steersman.cluster.apiserver.audit.errors import PolicyInvalid
from steersman.cluster.apiserver.audit.policy import DEFAULT_POLICY, LEVELS, Policy, check
from steersman.cluster.auth.authorization import Action
from steersman.cluster.auth.users import User

ANN = User("ann", groups=("dev", "system:authenticated"))


def pods(verb: str = "get", namespace: str = "ns", name: str = "p", subresource: str = "") -> Action:
    return Action(verb, "", "v1", "pods", subresource, namespace, name)


def path(url: str) -> Action:
    return Action("get", path=url)


@pytest.mark.parametrize(
    ("rule", "action", "wanted"),
    [
        ({}, pods(), True),
        ({}, path("/version"), True),
        ({"users": ["ann"]}, pods(), True),
        ({"users": ["bob"]}, pods(), False),
        ({"userGroups": ["ops", "dev"]}, pods(), True),
        ({"userGroups": ["ops"]}, pods(), False),
        ({"verbs": ["get", "list"]}, pods(), True),
        ({"verbs": ["list"]}, pods(), False),
        ({"namespaces": ["ns"]}, pods(), True),
        ({"namespaces": ["other"]}, pods(), False),
        ({"namespaces": [""]}, Action("get", "", "v1", "nodes", name="n"), True),
        ({"namespaces": [""]}, pods(), False),
        ({"namespaces": ["ns"]}, path("/version"), False),
        ({"resources": [{"group": ""}]}, pods(), True),
        ({"resources": [{}]}, pods(subresource="exec"), True),
        ({"resources": [{"group": "apps"}]}, pods(), False),
        ({"resources": [{"group": "*"}]}, pods(), True),
        ({"resources": [{"resources": ["pods"]}]}, pods(), True),
        ({"resources": [{"resources": ["pods"]}]}, pods(subresource="log"), False),
        ({"resources": [{"resources": ["pods/log"]}]}, pods(subresource="log"), True),
        ({"resources": [{"resources": ["pods/*"]}]}, pods(subresource="log"), True),
        ({"resources": [{"resources": ["*/log"]}]}, pods(subresource="log"), True),
        ({"resources": [{"resources": ["*/log"]}]}, pods(), False),
        ({"resources": [{"resources": ["*"]}]}, pods(subresource="log"), True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["p"]}]}, pods(), True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["q"]}]}, pods(), False),
        ({"resources": [{"resources": ["pods"]}]}, path("/pods"), False),
        ({"nonResourceURLs": ["/healthz*"]}, path("/healthz/ping"), True),
        ({"nonResourceURLs": ["/healthz"]}, path("/healthz/ping"), False),
        ({"nonResourceURLs": ["*"]}, path("/x"), True),
        ({"nonResourceURLs": ["*"]}, pods(), False),
    ],
)
def test_a_rule_is_for(rule: dict[str, Any], action: Action, wanted: bool) -> None:
    policy = Policy({"rules": [{"level": "Metadata", **rule}]})
    assert (policy.evaluate(ANN, action).level == 1) is wanted


def test_the_first_rule_that_matches_decides_and_without_one_nothing_is_logged() -> None:
    rules = [{"level": "None", "users": ["ann"]}, {"level": "Request", "verbs": ["get"]}]
    policy = Policy({"rules": rules})
    assert policy.evaluate(ANN, pods()).level == 0
    assert policy.evaluate(User("bob"), pods()).level == 2
    assert policy.evaluate(User("bob"), pods("list")).level == 0


def test_an_unknown_user_matches_no_rule_about_users() -> None:
    policy = Policy({"rules": [{"level": "Request", "users": ["ann"]}, {"level": "Metadata"}]})
    assert policy.evaluate(None, pods()).level == 1


def test_stages_to_omit_add_up_and_managed_fields_follow_the_rule() -> None:
    rules = [
        {"level": "Request", "verbs": ["get"], "omitStages": ["ResponseStarted"], "omitManagedFields": False},
        {"level": "Request"},
    ]
    policy = Policy({"rules": rules, "omitStages": ["RequestReceived"], "omitManagedFields": True})
    own, common = policy.evaluate(ANN, pods()), policy.evaluate(ANN, pods("list"))
    assert own.omit_stages == {"RequestReceived", "ResponseStarted"}
    assert common.omit_stages == {"RequestReceived"}
    assert (own.omit_managed_fields, common.omit_managed_fields) == (False, True)


@pytest.mark.parametrize("verb", ["get", "list", "create", "update", "patch", "delete"])
@pytest.mark.parametrize(
    ("group", "resource", "subresource"),
    [
        ("", "secrets", ""),
        ("", "configmaps", ""),
        ("", "serviceaccounts", "token"),
        ("authentication.k8s.io", "tokenreviews", ""),
    ],
)
def test_the_default_policy_shows_no_body_that_may_be_secret(
    verb: str, group: str, resource: str, subresource: str
) -> None:
    verdict = Policy(DEFAULT_POLICY).evaluate(
        ANN, Action(verb, group, "v1", resource, subresource, "ns", "x")
    )
    assert LEVELS[verdict.level] == "Metadata"


@pytest.mark.parametrize(
    ("action", "level"),
    [
        (path("/healthz"), "None"),
        (path("/openapi/v2"), "Metadata"),
        (pods("list"), "Metadata"),
        (pods("create"), "Request"),
    ],
)
def test_the_default_policy(action: Action, level: str) -> None:
    assert not list(check(DEFAULT_POLICY))
    assert LEVELS[Policy(DEFAULT_POLICY).evaluate(ANN, action).level] == level


HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules: [", "yaml: "),
        ("[]", "policy: Invalid value: []: must be an object"),
        ("kind: Policy\nrules: [{level: None}]", "apiVersion: Required value"),
        (
            "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]",
            'apiVersion: Unsupported value: "audit.k8s.io/v1beta1": supported values: "audit.k8s.io/v1"',
        ),
        (HEAD, "rules: Required value: a policy needs at least one rule"),
        (HEAD + "rules: {}", "rules: Invalid value: {}: must be a list"),
        (HEAD + "rules: [{users: [a]}]", "rules[0].level: Required value"),
        (
            HEAD + "rules: [{level: All}]",
            'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
        ),
        (
            HEAD + "rules: [{level: None, userGroup: [a]}]",
            'rules[0].userGroup: Invalid value: ["a"]: unknown field; there are level, users',
        ),
        (HEAD + "rules: [{level: None, users: a}]", 'rules[0].users: Invalid value: "a": must be a list'),
        (
            HEAD + "rules: [{level: None, verbs: [1]}]",
            "rules[0].verbs[0]: Invalid value: 1: must be a string",
        ),
        (
            HEAD + "rules: [{level: None, omitStages: [Done]}]",
            'rules[0].omitStages[0]: Invalid value: "Done": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
        ),
        (HEAD + "omitStages: [Done]\nrules: [{level: None}]", "omitStages[0]: Invalid value"),
        (
            HEAD + "omitManagedFields: 1\nrules: [{level: None}]",
            "omitManagedFields: Invalid value: 1: must be true or false",
        ),
        (
            HEAD + "rules: [{level: None, nonResourceURLs: [metrics]}]",
            "rules[0].nonResourceURLs[0]: Invalid value: \"metrics\": non-resource URL rules must begin with a '/' character",
        ),
        (
            HEAD + "rules: [{level: None, nonResourceURLs: ['/a*/b']}]",
            "rules[0].nonResourceURLs[0]: Invalid value: \"/a*/b\": non-resource URL wildcards '*' must be the final character of the rule",
        ),
        (
            HEAD + "rules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]",
            'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
        ),
        (
            HEAD + "rules: [{level: None, resources: [{resourceNames: [a]}]}]",
            'rules[0].resources[0].resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
        ),
        (
            HEAD + "rules: [{level: None, resources: [{group: apps/v1}]}]",
            'rules[0].resources[0].group: Invalid value: "apps/v1": a lowercase RFC 1123 subdomain',
        ),
    ],
)
def test_a_bad_policy_is_one_line_with_file_and_field(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(PolicyInvalid) as error:
        load_policy(file)
    assert str(error.value).startswith(f"{file}: {problem}")
    assert "\n" not in str(error.value)


def test_a_missing_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyInvalid, match=r"policy.yaml: No such file or directory"):
        load_policy(tmp_path / "policy.yaml")
