"""What rules allow, and when some rules are covered by others."""

from __future__ import annotations

import time

import pytest

from steersman.cluster.auth.rules import FULL_AUTHORITY, RbacRule, describe, uncovered


def rule(verbs: str, groups: str = "", resources: str = "", names: str = "", urls: str = "") -> RbacRule:
    """Words separated by blanks; the core group is written `core`."""
    parts = (verbs.split(), groups.split(), resources.split(), names.split(), urls.split())
    return RbacRule(*(tuple("" if word == "core" else word for word in part) for part in parts))


@pytest.mark.parametrize(
    ("given", "asked", "matches"),
    [
        (rule("get", "core", "pods"), ("get", "", "pods", ""), True),
        (rule("get", "core", "pods"), ("list", "", "pods", ""), False),
        (rule("get", "core", "pods"), ("get", "apps", "pods", ""), False),
        (rule("get", "core", "pods"), ("get", "", "pods", "log"), False),
        (rule("get", "core", "pods/log"), ("get", "", "pods", "log"), True),
        (rule("get", "core", "pods/log"), ("get", "", "pods", ""), False),
        (rule("get", "*", "*"), ("get", "apps", "deployments", "scale"), True),
        (rule("*", "core", "pods"), ("escalate", "", "pods", ""), True),
        (rule("update", "*", "*/scale"), ("update", "apps", "deployments", "scale"), True),
        (rule("update", "*", "*/scale"), ("update", "apps", "deployments", ""), False),
        (rule("update", "*", "*/scale"), ("update", "apps", "deployments", "status"), False),
        (rule("get", "core", "pods/*"), ("get", "", "pods", "log"), False),
        (rule("get", "core", "Pods"), ("get", "", "pods", ""), False),
    ],
    ids=str,
)
def test_which_resources_a_rule_speaks_of(
    given: RbacRule, asked: tuple[str, str, str, str], matches: bool
) -> None:
    assert given.matches_resource(*asked) is matches


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/", False),
        ("/healthz", "//healthz", False),
        ("/healthz", "/HEALTHZ", False),
        ("/healthz", "/healthz%2f", False),
        ("/healthz/*", "/healthz/", True),
        ("/healthz/*", "/healthz/etcd", True),
        ("/healthz/*", "/healthz", False),
        ("/healthz/*", "/healthz%2fetcd", False),
        ("/healthz*", "/healthzzz", True),
        ("/a/*/b", "/a/x/b", False),
        ("/a/*/b", "/a/*/b", True),
        ("*", "/anything", True),
    ],
)
def test_a_star_stands_for_any_rest_at_the_end_only(pattern: str, path: str, matches: bool) -> None:
    assert rule("get", urls=pattern).matches_path("get", path) is matches
    assert not rule("post", urls=pattern).matches_path("get", path)


@pytest.mark.parametrize(
    ("owned", "wanted", "covered"),
    [
        ([rule("get list", "core", "pods")], rule("get", "core", "pods"), True),
        ([rule("get", "core", "pods")], rule("get list", "core", "pods"), False),
        ([rule("get", "core", "pods"), rule("list", "core", "pods")], rule("get list", "core", "pods"), True),
        ([rule("*", "*", "*")], rule("bind", "x", "y/z"), True),
        ([rule("get", "core", "*/scale")], rule("get", "core", "pods/scale"), True),
        ([rule("get", "core", "*/scale")], rule("get", "core", "pods"), False),
        ([rule("get", "core", "pods")], rule("get", "core", "pods/log"), False),
        ([rule("get", "core", "pods")], rule("*", "core", "pods"), False),
        ([rule("get", "core", "pods", "a b")], rule("get", "core", "pods", "a"), True),
        ([rule("get", "core", "pods", "a")], rule("get", "core", "pods", "a b"), False),
        ([rule("get", "core", "pods", "a")], rule("get", "core", "pods"), False),
        ([rule("get", "core", "pods")], rule("get", "core", "pods", "a"), True),
        ([rule("get", urls="/a/*")], rule("get", urls="/a/b"), True),
        ([rule("get", urls="/a/*")], rule("get", urls="/a/*"), True),
        ([rule("get", urls="/a/b")], rule("get", urls="/a/*"), False),
        ([rule("get", urls="/a/*")], rule("get", urls="*"), False),
        ([rule("*", "*", "*")], rule("get", urls="/a"), False),
        ([], rule("get", "core", "pods"), False),
        (list(FULL_AUTHORITY), rule("x", "y", "z"), True),
    ],
    ids=str,
)
def test_when_rules_are_covered(owned: list[RbacRule], wanted: RbacRule, covered: bool) -> None:
    assert (uncovered(owned, [wanted]) == []) is covered


def test_missing_permissions_are_told_by_resource() -> None:
    wanted = [rule("get list", "core apps", "pods"), rule("get", urls="/x"), rule("get", "core", "pods", "n")]
    assert describe(uncovered([rule("get", "apps", "pods")], wanted)).splitlines() == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["n"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["list"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
    ]


def test_rules_that_are_not_simple_are_told_as_they_are() -> None:
    for pair in (("core", "a b", ""), ("core apps", "a", ""), ("core", "a", "x y")):
        groups, resources, names = pair
        rules = [rule(verb, groups, resources, names) for verb in ("get", "list")]
        assert len(describe(rules).splitlines()) == 2


def test_a_rule_of_a_million_permissions_is_refused_without_counting_them() -> None:
    many = " ".join(f"x{number}" for number in range(300))
    started = time.process_time()
    bomb = rule(many, many, many)
    assert uncovered([rule("get", "core", "pods")], [bomb]) == [bomb]
    assert uncovered([rule("*", "*", "*")], [bomb]) == []
    assert time.process_time() - started < 2


def test_a_rule_survives_the_way_to_the_api_and_back() -> None:
    for each in (rule("get", "core", "pods", "n"), rule("get", urls="/a /b"), rule("*", "*", "*")):
        assert RbacRule.of(each.to_object()) == each
