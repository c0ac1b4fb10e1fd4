"""Users that other issuers vouch for."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from steersman.cluster.auth.authentication import API_AUDIENCE, InvalidCredentials
from steersman.cluster.auth.claims import Claim, ClaimMappings
from steersman.cluster.auth.jwt import SigningKey, key_set
from steersman.cluster.auth.oidc import ExternalIssuers, Issuer, read_key_set
from steersman.cluster.auth.users import User

Object = dict[str, Any]

NOW = 1_700_000_000.0
KEY = SigningKey.make()
URL = "https://login.example.com"
CLAIMS: Object = {"iss": URL, "aud": "steer", "sub": "ann", "exp": NOW + 60, "groups": ["dev", "ops"]}


def issuer(**changes: Any) -> Issuer:
    mappings = ClaimMappings(Claim("sub", "oidc:"), Claim("groups", "oidc:"))
    given: Object = {"audiences": ("steer", "other"), "mappings": mappings, "keys": (KEY.public,)} | changes
    return Issuer(URL, **given)


def ask(made: Issuer, claims: Object, key: SigningKey = KEY) -> User | None:
    return ExternalIssuers([made], now=lambda: NOW).authenticate(key.sign(claims))


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW},
        {"exp": "later"},
        {"exp": None},
        {"nbf": NOW + 301},
        {"aud": "else"},
        {"aud": []},
        {"aud": 7},
        {"aud": {"steer": 1}},
        {"aud": None},
        {"sub": 7},
    ],
    ids=str,
)
def test_what_is_not_believed(changes: Object) -> None:
    assert ask(issuer(), CLAIMS) is not None
    with pytest.raises(InvalidCredentials):
        ask(issuer(), CLAIMS | changes)


def test_signatures_count() -> None:
    with pytest.raises(InvalidCredentials):
        ask(issuer(), CLAIMS, SigningKey.make())


def test_tokens_of_others_are_not_judged() -> None:
    assert ask(issuer(), CLAIMS | {"iss": "https://else"}) is None
    assert ask(issuer(), CLAIMS | {"iss": ["x"]}) is None
    assert ExternalIssuers([issuer()]).authenticate("rubbish") is None


def test_a_remembered_token_still_runs_out() -> None:
    now = NOW
    issuers = ExternalIssuers([issuer()], now=lambda: now)
    token = KEY.sign(CLAIMS)
    assert issuers.authenticate(token)
    now += 60
    with pytest.raises(InvalidCredentials):
        issuers.authenticate(token)


def test_audiences_of_a_review() -> None:
    issuers = ExternalIssuers([issuer()], now=lambda: NOW)
    token = KEY.sign(CLAIMS)
    for asked in ([API_AUDIENCE], ["x", "steer"]):
        found = issuers.authenticate_for(token, asked)
        assert found is not None
        assert found.audiences == asked[-1:]
    with pytest.raises(InvalidCredentials):
        issuers.authenticate_for(token, ["vault"])


# Keys from the issuer


def test_keys_are_fetched_and_rotated() -> None:
    next_key = SigningKey.make()
    served = {
        f"{URL}/.well-known/openid-configuration": {"issuer": URL, "jwks_uri": f"{URL}/keys"},
        f"{URL}/keys": orjson.loads(key_set([KEY.public])),
    }

    async def fetch(url: str, authority: str) -> bytes:
        assert authority == "PEM"
        return orjson.dumps(served[url])

    issuers = ExternalIssuers([issuer(keys=(), authority="PEM")], now=lambda: NOW)
    old, new = KEY.sign(CLAIMS), next_key.sign(CLAIMS)

    def believed(token: str) -> bool:
        try:
            return issuers.authenticate(token) is not None
        except InvalidCredentials:
            return False

    assert (believed(old), believed(new)) == (False, False)
    asyncio.run(issuers.refresh(fetch))
    assert (believed(old), believed(new)) == (True, False)
    served[f"{URL}/keys"] = orjson.loads(key_set([next_key.public]))
    asyncio.run(issuers.refresh(fetch))
    assert (believed(old), believed(new)) == (False, True)
    # An issuer that fails, or says it is another, changes nothing.
    served[f"{URL}/.well-known/openid-configuration"]["issuer"] = "https://evil"
    asyncio.run(issuers.refresh(fetch))
    del served[f"{URL}/keys"]
    asyncio.run(issuers.refresh(fetch))
    assert (believed(old), believed(new)) == (False, True)


def test_an_unknown_key_asks_for_new_ones() -> None:
    issuers = ExternalIssuers([issuer(keys=())], now=lambda: NOW)
    with pytest.raises(InvalidCredentials):
        issuers.authenticate(KEY.sign(CLAIMS))
    assert issuers._wanted.is_set()


def test_a_known_key_does_not_ask_for_others() -> None:
    async def fetch(url: str, authority: str) -> bytes:
        if url.endswith("/keys"):
            return key_set([KEY.public])
        return orjson.dumps({"issuer": URL, "jwks_uri": f"{URL}/keys"})

    fetched = ExternalIssuers([issuer(keys=())], now=lambda: NOW)
    asyncio.run(fetched.refresh(fetch))
    assert fetched.authenticate(KEY.sign(CLAIMS)) is not None
    assert not fetched._wanted.is_set()
    # Keys that are given are all there are.
    given = ExternalIssuers([issuer()], now=lambda: NOW)
    with pytest.raises(InvalidCredentials):
        given.authenticate(SigningKey.make().sign(CLAIMS))
    assert not given._wanted.is_set()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steersman.cluster.auth.oidc._REMEMBERED", 2)
    issuers = ExternalIssuers([issuer()], now=lambda: NOW)
    remembered = []
    for number in range(4):
        issuers.authenticate(KEY.sign(CLAIMS | {"jti": str(number)}))
        remembered.append(len(issuers._known))
    assert remembered == [1, 2, 1, 2]


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"keys": 1}', b'{"keys": [1, {}, {"kty": "oct"}]}', b"x"])
def test_what_is_no_key_set(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_key_set(body)


def test_keys_for_other_uses_are_left_out() -> None:
    mine, other = KEY.public.jwk(), SigningKey.make().public.jwk() | {"use": "enc"}
    assert [key.id for key in read_key_set(orjson.dumps({"keys": [other, mine]}))] == [KEY.public.id]
