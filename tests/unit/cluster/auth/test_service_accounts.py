"""Service account tokens live as long as what they speak of."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from steersman.cluster.auth.authentication import (
    API_AUDIENCE,
    Authentication,
    InvalidCredentials,
    StaticTokens,
)
from steersman.cluster.auth.jwt import SigningKey, parse
from steersman.cluster.auth.pki import PkiError
from steersman.cluster.auth.service_accounts import ServiceAccountTokens, open_signing_key
from steersman.cluster.auth.users import User

Object = dict[str, Any]

START = 1_700_000_000.0
KEY = SigningKey.make()


class World:
    """Stored objects and a clock, both in hand."""

    def __init__(self) -> None:
        self.now = START
        self._revision = 0
        self._objects: dict[tuple[str, str, str], tuple[int, Object]] = {}
        self.reads = 0
        self.tokens = ServiceAccountTokens(KEY, self, now=lambda: self.now)
        self.account = self.put("serviceaccounts", "bot", "a-uid")
        self.pod = self.put("pods", "pod", "p-uid")

    def put(self, plural: str, name: str, uid: str, **more: Any) -> Object:
        self._revision += 1
        namespace = "" if plural == "nodes" else "ns"
        metadata = {"name": name, "uid": uid, **({"namespace": namespace} if namespace else {})}
        obj: Object = {"metadata": metadata | more.pop("metadata", {}), **more}
        self._objects[plural, namespace, name] = (self._revision, obj)
        return obj

    def delete(self, plural: str, name: str) -> None:
        del self._objects[plural, "" if plural == "nodes" else "ns", name]

    def revision(self, plural: str, namespace: str, name: str) -> int:
        return self._objects.get((plural, namespace, name), (0, {}))[0]

    def get(self, plural: str, namespace: str, name: str) -> Object | None:
        self.reads += 1
        found = self._objects.get((plural, namespace, name))
        return found and found[1]

    def issue(self, audiences: tuple[str, ...] = (API_AUDIENCE,), **bound: Object) -> str:
        return self.tokens.issue(self.account, audiences=audiences, expires_in_s=600, bound=bound)

    def refusal(self, token: str) -> str:
        with pytest.raises(InvalidCredentials) as refused:
            self.tokens.authenticate(token)
        return str(refused.value)


@pytest.fixture
def world() -> World:
    return World()


def resigned(key: SigningKey, token: str, **changes: Any) -> str:
    claims = {**parse(token).claims, **changes}
    return key.sign({name: value for name, value in claims.items() if value is not None})


def test_the_claims_are_kubernetes(world: World) -> None:
    node = world.put("nodes", "n", "n-uid")
    claims = parse(world.issue(pod=world.pod, node=node)).claims
    assert len(claims.pop("jti")) == 36
    assert claims == {
        "aud": [API_AUDIENCE],
        "exp": START + 600,
        "iat": START,
        "nbf": START,
        "iss": "https://kubernetes.default.svc",
        "sub": "system:serviceaccount:ns:bot",
        "kubernetes.io": {
            "namespace": "ns",
            "serviceaccount": {"name": "bot", "uid": "a-uid"},
            "pod": {"name": "pod", "uid": "p-uid"},
            "node": {"name": "n", "uid": "n-uid"},
        },
    }


def test_the_user_is_the_account(world: World) -> None:
    token = world.issue(pod=world.pod, node=world.put("nodes", "n", "n-uid"))
    user = world.tokens.authenticate(token)
    assert user is not None
    assert (user.name, user.uid) == ("system:serviceaccount:ns:bot", "a-uid")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert user.extra == {
        "authentication.kubernetes.io/credential-id": [f"JTI={parse(token).claims['jti']}"],
        "authentication.kubernetes.io/pod-name": ["pod"],
        "authentication.kubernetes.io/pod-uid": ["p-uid"],
        "authentication.kubernetes.io/node-name": ["n"],
        "authentication.kubernetes.io/node-uid": ["n-uid"],
    }


def test_no_two_tokens_are_the_same(world: World) -> None:
    assert world.issue() != world.issue()


def test_a_token_runs_out_although_it_is_remembered(world: World) -> None:
    token = world.issue()
    assert world.tokens.authenticate(token)
    world.now += 600 + 59
    assert world.tokens.authenticate(token)
    world.now += 2
    assert world.refusal(token) == "service account token has expired"
    assert world.refusal(token) == "service account token has expired"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"nbf": START + 61}, "service account token is not valid yet"),
        ({"iat": START + 61}, "service account token is issued in the future"),
        ({"exp": START - 61}, "service account token has expired"),
        ({"exp": None}, "service account token claims could not be validated"),
        ({"exp": "never"}, "service account token claims could not be validated"),
        ({"kubernetes.io": None}, "service account token claims could not be validated"),
        ({"kubernetes.io": []}, "service account token claims could not be validated"),
        ({"sub": "system:serviceaccount:ns:other"}, "service account token claims could not be validated"),
        ({"aud": ["else"]}, 'token audiences ["else"] is invalid for the target audiences '
         '["https://kubernetes.default.svc"]'),
    ],
    ids=str,
)  # fmt: skip
def test_claims_that_are_not_right(world: World, changes: Mapping[str, Any], why: str) -> None:
    assert world.refusal(resigned(KEY, world.issue(), **changes)) == why


def test_a_token_of_another_key_is_refused(world: World) -> None:
    assert (
        world.refusal(resigned(SigningKey.make(), world.issue()))
        == "go-jose/go-jose: error in cryptographic primitive"
    )


def test_a_tampered_token_is_refused_also_when_the_real_one_is_known(world: World) -> None:
    token = world.issue()
    assert world.tokens.authenticate(token)
    head, _body, signature = token.split(".")
    claims = {**parse(token).claims, "sub": "system:serviceaccount:kube-system:admin"}
    forged = base64.urlsafe_b64encode(orjson.dumps(claims)).rstrip(b"=").decode()
    assert (
        world.refusal(f"{head}.{forged}.{signature}") == "go-jose/go-jose: error in cryptographic primitive"
    )


def test_a_token_of_another_issuer_is_not_ours_to_judge(world: World) -> None:
    assert world.tokens.authenticate(resigned(KEY, world.issue(), iss="https://else")) is None
    for text in ("", "x", "a.b.c", "\ud800", "." * 50):
        assert world.tokens.authenticate(text) is None


def test_the_keys_before_a_rotation_are_still_good(world: World) -> None:
    old = world.issue()
    tokens = ServiceAccountTokens(SigningKey.make(), world, keys=[KEY.public], now=lambda: world.now)
    assert tokens.authenticate(old)
    assert ServiceAccountTokens(SigningKey.make(), world, now=lambda: world.now).keys[0] != KEY.public


def test_a_token_dies_with_its_account(world: World) -> None:
    token = world.issue()
    assert world.tokens.authenticate(token)
    world.delete("serviceaccounts", "bot")
    assert world.refusal(token) == 'serviceaccounts "bot" not found'
    world.put("serviceaccounts", "bot", "another")
    assert world.refusal(token) == "service account UID (another) does not match claim (a-uid)"
    world.put("serviceaccounts", "bot", "a-uid")
    assert world.tokens.authenticate(token)


@pytest.mark.parametrize("claim", ["pod", "secret", "node"])
def test_a_token_dies_with_what_it_is_bound_to(world: World, claim: str) -> None:
    bound = world.put(f"{claim}s", "b", "b-uid")
    token = world.issue(**{claim: bound})
    assert world.tokens.authenticate(token)
    world.delete(f"{claim}s", "b")
    assert world.refusal(token) == "service account token has been invalidated"
    world.put(f"{claim}s", "b", "new")
    assert (
        world.refusal(token) == f"{claim} UID (new) does not match service account {claim} ref claim (b-uid)"
    )


def test_a_pods_token_outlives_its_node(world: World) -> None:
    token = world.issue(pod=world.pod, node=world.put("nodes", "n", "n-uid"))
    world.delete("nodes", "n")
    assert world.tokens.authenticate(token)


def test_what_is_being_deleted_is_forgiven_for_a_minute(world: World) -> None:
    token = world.issue(pod=world.pod)
    deleted = {"deletionTimestamp": "2023-11-14T22:13:20Z"}  # START
    world.put("pods", "pod", "p-uid", metadata=deleted)
    assert world.tokens.authenticate(token)
    world.now += 59
    assert world.tokens.authenticate(token)
    world.now += 2
    assert world.refusal(token) == "service account token has been invalidated"


def test_a_known_token_costs_no_reading_until_something_changes(world: World) -> None:
    token = world.issue(pod=world.pod)
    world.tokens.authenticate(token)
    reads = world.reads
    for _ in range(5):
        world.tokens.authenticate(token)
    assert world.reads == reads
    world.put("pods", "pod", "p-uid", status={"phase": "Running"})
    world.tokens.authenticate(token)
    assert world.reads == reads + 1


def test_remembered_tokens_are_bounded(world: World) -> None:
    for _ in range(10):
        world.tokens.authenticate(world.issue())
    known = world.tokens._verified
    filler = next(iter(known.values()))
    known.update({b"%d" % number: filler for number in range(8192)})
    world.tokens.authenticate(world.issue())
    assert len(known) == 1


# Audiences


def test_a_token_for_others_is_none_for_the_api(world: World) -> None:
    token = world.issue(audiences=("vault",))
    assert "is invalid for the target audiences" in world.refusal(token)
    chain = Authentication(None, [StaticTokens({}), world.tokens])
    with pytest.raises(InvalidCredentials):
        chain.by_header(f"Bearer {token}")
    assert chain.by_token(token, ["vault", "x"]).audiences == ["vault"]
    with pytest.raises(InvalidCredentials):
        chain.by_token(token)


def test_a_static_token_is_for_the_api_only() -> None:
    chain = Authentication(None, [StaticTokens({"t": User("ann")})])
    assert chain.by_token("t") == (User("ann"), [API_AUDIENCE])
    with pytest.raises(InvalidCredentials, match="invalid bearer token"):
        chain.by_token("t", ["vault"])
    with pytest.raises(InvalidCredentials, match="invalid bearer token"):
        chain.by_token("nope")


# Tokens kept in Secrets


def legacy(world: World) -> str:
    token = world.tokens.issue_legacy(world.account, {"metadata": {"name": "s"}})
    world.put("secrets", "s", "s-uid", data={"token": base64.b64encode(token.encode()).decode()})
    return token


def test_a_secrets_token_is_good_while_the_secret_holds_it(world: World) -> None:
    token = legacy(world)
    world.now += 10 * 365 * 86400
    user = world.tokens.authenticate(token)
    assert user is not None
    assert user.name == "system:serviceaccount:ns:bot"
    world.put("secrets", "s", "s-uid", data={"token": base64.b64encode(b"x").decode()})
    assert world.refusal(token) == "Token does not match server's copy"
    world.put("secrets", "s", "s-uid", data={})
    assert world.refusal(token) == "Token does not match server's copy"
    world.delete("secrets", "s")
    assert world.refusal(token) == "Token has been invalidated"


def test_a_secrets_token_dies_with_its_account(world: World) -> None:
    token = legacy(world)
    assert world.tokens.authenticate(token)
    world.put("serviceaccounts", "bot", "another")
    assert "does not match claim" in world.refusal(token)


def test_a_secret_being_deleted_or_marked_gives_no_more(world: World) -> None:
    token = legacy(world)
    held = world.get("secrets", "ns", "s")
    assert held is not None
    world.put(
        "secrets", "s", "s-uid", data=held["data"], metadata={"deletionTimestamp": "2023-11-14T22:13:20Z"}
    )
    assert world.refusal(token) == "Token has been invalidated"
    marked = {"labels": {"kubernetes.io/legacy-token-invalid-since": "2023-01-01"}}
    world.put("secrets", "s", "s-uid", data=held["data"], metadata=marked)
    assert "marked invalid" in world.refusal(token)


def test_a_bound_token_cannot_pose_as_a_secrets(world: World) -> None:
    assert "could not be validated" in world.refusal(
        resigned(KEY, world.issue(), iss="kubernetes/serviceaccount")
    )


def test_the_key_is_kept_and_private(tmp_path: Path) -> None:
    key = open_signing_key(tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert open_signing_key(tmp_path).public == key.public
    file.write_bytes(b"rubbish")
    with pytest.raises(PkiError, match="is damaged: it holds no private key"):
        open_signing_key(tmp_path)
