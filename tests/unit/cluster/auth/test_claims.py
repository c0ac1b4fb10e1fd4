"""Users made of the claims of a token."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.auth.authentication import InvalidCredentials
from steersman.cluster.auth.claims import Claim, ClaimMappings, ClaimRule, Expression
from steersman.cluster.auth.users import User

Object = dict[str, Any]

CLAIMS: Object = {
    "sub": "ann",
    "groups": ["dev", "ops"],
    "email": "ann@example.com",
    "org": {"unit.name": "x", "roles": ["a", ""]},
    "level": 3,
}
BY_CLAIM = ClaimMappings(Claim("sub", "oidc:"), Claim("groups", "oidc:"), Claim("sub"))
compiled = Expression.compile


def condition(text: str, variable: str = "claims") -> Expression:
    return Expression.compile(text, variable, condition=True)


def test_the_user_is_made_of_claims() -> None:
    assert BY_CLAIM.user_of(CLAIMS | {"jti": "7"}) == User(
        "oidc:ann",
        "ann",
        ("oidc:dev", "oidc:ops", "system:authenticated"),
        {"authentication.kubernetes.io/credential-id": ["JTI=7"]},
    )


def test_the_user_is_made_by_expressions() -> None:
    mappings = ClaimMappings(
        compiled("'x:' + claims.sub"),
        compiled("claims.org.roles + claims.groups.filter(g, g != 'ops')"),
        compiled("string(claims.level)"),
        (
            ("example.com/unit", compiled("claims.org.unit__dot__name")),
            ("example.com/none", compiled("claims.?missing.orValue(null)")),
        ),
    )
    assert mappings.user_of(CLAIMS) == User(
        "x:ann", "3", ("a", "dev", "system:authenticated"), {"example.com/unit": ["x"]}
    )


@pytest.mark.parametrize(
    ("groups", "expected"), [("dev", ("oidc:dev",)), ([], ()), (None, ())], ids=["one", "empty", "none"]
)
def test_groups_may_be_one_or_none(groups: Any, expected: tuple[str, ...]) -> None:
    assert BY_CLAIM.user_of(CLAIMS | {"groups": groups}).groups == (*expected, "system:authenticated")


REFUSED: dict[str, tuple[ClaimMappings, Object, str]] = {
    "no name": (BY_CLAIM, {"sub": None}, 'oidc: parse username claim "sub": not a string'),
    "an empty name": (BY_CLAIM, {"sub": ""}, "oidc: empty username is not allowed"),
    "groups of numbers": (BY_CLAIM, {"groups": [1]}, 'oidc: parse group claim "groups": not a list of strings'),
    "groups by name": (BY_CLAIM, {"groups": {"a": "b"}}, 'oidc: parse group claim "groups": not a list of strings'),
    "an unverified address": (
        ClaimMappings(Claim("email")), {"email_verified": False}, "oidc: email not verified",
    ),
    "a required claim that is missing": (
        ClaimMappings(Claim("sub"), required=(("hd", "a"),)), {},
        "oidc: required claim hd not present in ID token",
    ),
    "a required claim of another value": (
        ClaimMappings(Claim("sub"), required=(("hd", "a"),)), {"hd": "b"},
        "oidc: required claim hd value does not match. Got = b, want = a",
    ),
    "a name that is a number": (
        ClaimMappings(compiled("claims.level")), {},
        "oidc: error evaluating username claim expression: username claim expression must return a string",
    ),
    "an empty name by expression": (
        ClaimMappings(compiled("''")), {}, "oidc: empty username via CEL expression is not allowed",
    ),
    "an expression that fails": (
        ClaimMappings(compiled("claims.nothing")), {},
        "oidc: error evaluating username claim expression: expression 'claims.nothing' resulted in error: "
        "no such key: nothing",
    ),
    "groups that are none": (
        ClaimMappings(Claim("sub"), compiled("claims.level")), {},
        "oidc: error evaluating group claim expression: expression must return a string or a list of strings",
    ),
    "a rule about claims": (
        ClaimMappings(Claim("sub"), claim_rules=(ClaimRule(condition("claims.level > 3"), "too low"),)), {},
        "oidc: error evaluating claim validation expression: validation expression 'claims.level > 3' failed: "
        "too low",
    ),
    "a rule about the user": (
        ClaimMappings(
            Claim("sub", "system:"),
            user_rules=(ClaimRule(condition("!user.username.startsWith('system:')", "user"), "reserved"),),
        ), {},
        "oidc: error evaluating user info validation rule: validation expression "
        "'!user.username.startsWith('system:')' failed: reserved",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("mappings", "changes", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(mappings: ClaimMappings, changes: Object, why: str) -> None:
    with pytest.raises(InvalidCredentials) as refused:
        mappings.user_of(CLAIMS | changes)
    assert str(refused.value) == why
