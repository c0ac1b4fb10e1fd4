"""Tokens that come as a WebSocket's subprotocol."""

from __future__ import annotations

import pytest

from steersman.cluster.auth.authentication import InvalidCredentials
from steersman.cluster.auth.websocket_tokens import authorization_of, without_token
from steersman.http import Headers

PREFIX = "base64url.bearer.authorization.k8s.io."


def headers(*values: str) -> Headers:
    return Headers([(b"sec-websocket-protocol", value.encode("latin-1")) for value in values])


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], None),
        (["v4.channel.k8s.io"], None),
        ([f"v4.channel.k8s.io, {PREFIX}dG9rZW4"], "Bearer token"),
        ([f"{PREFIX}dG9rZW4,v4.channel.k8s.io"], "Bearer token"),
        ([f"{PREFIX}Pj8_", "v4.channel.k8s.io"], "Bearer >??"),
    ],
)
def test_a_token_is_found_among_the_subprotocols(values: list[str], found: str | None) -> None:
    assert authorization_of(headers(*values)) == found


@pytest.mark.parametrize(
    "values",
    [
        [f"{PREFIX}dG9rZW4"],
        [f"{PREFIX}dG9rZW4, {PREFIX}dG9rZW4, v4.channel.k8s.io"],
        [f"{PREFIX}dG9rZW4=, v4.channel.k8s.io"],
        [f"{PREFIX}a!b, v4.channel.k8s.io"],
        [f"{PREFIX}_w, v4.channel.k8s.io"],
    ],
    ids=["alone", "two", "padded", "not base64", "not text"],
)
def test_what_cannot_be_a_token_is_none(values: list[str]) -> None:
    with pytest.raises(InvalidCredentials):
        authorization_of(headers(*values))


def test_the_token_is_not_shown_to_others() -> None:
    assert without_token(f"a, {PREFIX}dG9rZW4,b".encode()) == b"a, b"
