"""Which Secrets make a bootstrap token."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from steersman.cluster.auth.bootstrap_tokens import BootstrapTokens
from steersman.cluster.auth.users import User

Object = dict[str, Any]

GOOD = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
}
TOKEN = "abcdef.0123456789abcdef"
NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z


class Secrets:
    def __init__(self, secret: Object | None) -> None:
        self.secret = secret

    def revision(self, plural: str, namespace: str, name: str) -> int:
        raise AssertionError("bootstrap tokens are not remembered")

    def get(self, plural: str, namespace: str, name: str) -> Object | None:
        found = (plural, namespace, name) == ("secrets", "kube-system", "bootstrap-token-abcdef")
        return self.secret if found else None


def ask(texts: dict[str, str], token: str = TOKEN, **changes: Any) -> User | None:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
    secret = {"metadata": {}, "type": "bootstrap.kubernetes.io/token", "data": encoded, **changes}
    return BootstrapTokens(Secrets(secret), now=lambda: NOW).authenticate(token)


@pytest.mark.parametrize(
    ("changes", "groups"),
    [
        ({}, ("system:bootstrappers",)),
        ({"expiration": "2023-11-14T22:13:21Z"}, ("system:bootstrappers",)),
        (
            {"auth-extra-groups": "system:bootstrappers:z,system:bootstrappers:a"},
            ("system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:z"),
        ),
    ],
    ids=str,
)
def test_who_a_good_token_is(changes: dict[str, str], groups: tuple[str, ...]) -> None:
    assert ask(GOOD | changes) == User("system:bootstrap:abcdef", groups=(*groups, "system:authenticated"))


@pytest.mark.parametrize(
    "changes",
    [
        {"token-secret": "0123456789abcdeg"},
        {"token-secret": ""},
        {"token-id": "abcdeg"},
        {"usage-bootstrap-authentication": "false"},
        {"usage-bootstrap-authentication": ""},
        {"expiration": "2023-11-14T22:13:20Z"},
        {"expiration": "2023-11-14T22:13:21"},
        {"expiration": "tomorrow"},
        {"auth-extra-groups": "system:masters"},
        {"auth-extra-groups": "system:bootstrappers:a,system:masters"},
        {"auth-extra-groups": "system:bootstrappers:a,"},
    ],
    ids=str,
)
def test_what_makes_no_user(changes: dict[str, str]) -> None:
    assert ask(GOOD | changes) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "Opaque"},
        {"data": None},
        {"data": {"token-id": "!", "token-secret": "/w=="}},
        {"metadata": {"deletionTimestamp": "2023-11-14T22:13:20Z"}},
    ],
    ids=str,
)
def test_which_secrets_do_not_count(changes: Object) -> None:
    assert ask(GOOD, **changes) is None


@pytest.mark.parametrize(
    "token",
    ["", "abcdef", "abcdef.", TOKEN + "0", TOKEN.upper(), TOKEN + "\n", "abcdeg.0123456789abcdef", "a.b.c"],
)
def test_what_is_no_bootstrap_token(token: str) -> None:
    assert ask(GOOD, token) is None
