"""Users that other issuers vouch for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from steersman.cluster.auth.authentication import API_AUDIENCE, InvalidCredentials
from steersman.cluster.auth.jwt import SigningKey, key_set
from steersman.cluster.auth.oidc import ExternalIssuers, Issuer, Mapped, read_issuers, read_key_set
from steersman.cluster.auth.users import User

Object = dict[str, Any]

NOW = 1_700_000_000.0
KEY = SigningKey.make()
URL = "https://login.example.com"
CLAIMS: Object = {"iss": URL, "aud": "steer", "sub": "ann", "exp": NOW + 60, "groups": ["dev", "ops"]}


def issuer(folder: Path, **changes: Any) -> Issuer:
    file = folder / "keys.json"
    file.write_bytes(key_set([KEY.public]))
    given: Object = {"audiences": ("steer", "other"), "username": Mapped("sub", "oidc:"),
                     "groups": Mapped("groups", "oidc:"), "keys_file": file} | changes  # fmt: skip
    return Issuer(URL, **given)


def ask(made: Issuer, claims: Object, key: SigningKey = KEY) -> User | None:
    return ExternalIssuers([made], now=lambda: NOW).authenticate(key.sign(claims))


def test_the_user_is_made_of_claims(tmp_path: Path) -> None:
    user = ask(issuer(tmp_path, uid_claim="sub"), CLAIMS | {"jti": "7"})
    assert user == User(
        "oidc:ann",
        "ann",
        ("oidc:dev", "oidc:ops", "system:authenticated"),
        {"authentication.kubernetes.io/credential-id": ["JTI=7"]},
    )


def test_groups_may_be_one_or_none(tmp_path: Path) -> None:
    for groups, expected in (("dev", ("oidc:dev",)), ([], ()), (None, ())):
        user = ask(issuer(tmp_path), CLAIMS | {"groups": groups})
        assert user is not None
        assert user.groups == (*expected, "system:authenticated")


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
        {"sub": ""},
        {"sub": 7},
        {"sub": None},
        {"groups": [1]},
        {"groups": {"a": "b"}},
        {"hd": "evil.com"},
        {"email_verified": False},
    ],
    ids=str,
)
def test_what_is_not_believed(tmp_path: Path, changes: Object) -> None:
    made = issuer(tmp_path, required={"hd": "example.com"})
    good = CLAIMS | {"hd": "example.com"}
    if "email_verified" in changes:
        made, good = issuer(tmp_path, username=Mapped("email")), CLAIMS | {"email": "a@b.c"}
    assert ask(made, good) is not None
    with pytest.raises(InvalidCredentials):
        ask(made, good | changes)


def test_signatures_count(tmp_path: Path) -> None:
    with pytest.raises(InvalidCredentials):
        ask(issuer(tmp_path), CLAIMS, SigningKey.make())


def test_tokens_of_others_are_not_judged(tmp_path: Path) -> None:
    assert ask(issuer(tmp_path), CLAIMS | {"iss": "https://else"}) is None
    assert ask(issuer(tmp_path), CLAIMS | {"iss": ["x"]}) is None
    assert ExternalIssuers([issuer(tmp_path)]).authenticate("rubbish") is None


def test_a_remembered_token_still_runs_out(tmp_path: Path) -> None:
    now = NOW
    issuers = ExternalIssuers([issuer(tmp_path)], now=lambda: now)
    token = KEY.sign(CLAIMS)
    assert issuers.authenticate(token)
    now += 60
    with pytest.raises(InvalidCredentials):
        issuers.authenticate(token)


def test_audiences_of_a_review(tmp_path: Path) -> None:
    issuers = ExternalIssuers([issuer(tmp_path)], now=lambda: NOW)
    token = KEY.sign(CLAIMS)
    for asked in ([API_AUDIENCE], ["x", "steer"]):
        found = issuers.authenticate_for(token, asked)
        assert found is not None
        assert found.audiences == asked[-1:]
    with pytest.raises(InvalidCredentials):
        issuers.authenticate_for(token, ["vault"])


# Keys from the issuer


def test_keys_are_fetched_and_rotated(tmp_path: Path) -> None:
    next_key = SigningKey.make()
    served = {
        f"{URL}/.well-known/openid-configuration": {"issuer": URL, "jwks_uri": f"{URL}/keys"},
        f"{URL}/keys": orjson.loads(key_set([KEY.public])),
    }

    async def fetch(url: str, authority: str) -> bytes:
        assert authority == "PEM"
        return orjson.dumps(served[url])

    issuers = ExternalIssuers([issuer(tmp_path, keys_file=None, authority="PEM")], now=lambda: NOW)
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


def test_an_unknown_key_asks_for_new_ones(tmp_path: Path) -> None:
    issuers = ExternalIssuers([issuer(tmp_path, keys_file=None)], now=lambda: NOW)
    with pytest.raises(InvalidCredentials):
        issuers.authenticate(KEY.sign(CLAIMS))
    assert issuers._wanted.is_set()


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"keys": 1}', b'{"keys": [1, {}, {"kty": "oct"}]}', b"x"])
def test_what_is_no_key_set(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_key_set(body)


def test_keys_for_other_uses_are_left_out() -> None:
    mine, other = KEY.public.jwk(), SigningKey.make().public.jwk() | {"use": "enc"}
    assert [key.id for key in read_key_set(orjson.dumps({"keys": [other, mine]}))] == [KEY.public.id]


# The file

GOOD: Object = {
    "issuer": {"url": URL, "audiences": ["steer"], "certificateAuthority": "PEM"},
    "claimMappings": {
        "username": {"claim": "sub", "prefix": "oidc:"},
        "groups": {"claim": "groups", "prefix": ""},
        "uid": {"claim": "sub"},
    },
    "claimValidationRules": [{"claim": "hd", "requiredValue": "example.com"}],
}


def write(folder: Path, *jwt: Any, kind: str = "AuthenticationConfiguration") -> Path:
    file = folder / "authentication.yaml"
    file.write_text(
        yaml.safe_dump({"apiVersion": "apiserver.config.k8s.io/v1", "kind": kind, "jwt": list(jwt)})
    )
    return file


def test_kubernetes_file_is_read(tmp_path: Path) -> None:
    (made,) = read_issuers(write(tmp_path, GOOD | {"jwksFile": "keys.json"}))
    assert made == Issuer(
        URL,
        ("steer",),
        Mapped("sub", "oidc:"),
        Mapped("groups", ""),
        "sub",
        {"hd": "example.com"},
        "",
        "PEM",
        tmp_path / "keys.json",
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"issuer": {"url": "http://x", "audiences": ["a"]}}, "must be an https URL"),
        ({"issuer": {"url": API_AUDIENCE, "audiences": ["a"]}}, "the cluster's own"),
        ({"issuer": {"url": URL, "audiences": []}}, "must not be empty"),
        ({"issuer": {"audiences": ["a"]}}, "url is missing"),
        ({"claimMappings": {"username": {"claim": "sub"}}}, "prefix is missing"),
        ({"claimMappings": {"username": {"expression": "claims.sub"}}}, "CEL"),
        ({"claimValidationRules": [{"expression": "true"}]}, "CEL"),
        ({"userValidationRules": [{"expression": "true"}]}, "CEL"),
        ({"issuer": None}, "jwt"),
    ],
    ids=lambda part: str(part)[:50],
)
def test_a_file_that_cannot_be_followed_is_refused(tmp_path: Path, changes: Object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_issuers(write(tmp_path, GOOD | changes))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not an AuthenticationConfiguration"):
        read_issuers(write(tmp_path, kind="Pod"))
    with pytest.raises(ValueError, match="twice"):
        read_issuers(write(tmp_path, GOOD, GOOD))
    (tmp_path / "x").write_text("[")
    with pytest.raises(ValueError, match="x"):
        read_issuers(tmp_path / "x")
