"""Kubernetes' AuthenticationConfiguration, good and bad."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.cluster.auth.authentication import API_AUDIENCE, AnonymousAccess
from steersman.cluster.auth.authentication_file import read_authentication_file
from steersman.cluster.auth.claims import Claim, Expression
from steersman.cluster.auth.errors import ConfigurationInvalid
from steersman.cluster.auth.jwt import SigningKey, key_set
from steersman.cluster.auth.pki import StoredAuthority

Object = dict[str, Any]

URL = "https://login.example.com"
PEM = StoredAuthority.make("issuers").pem.decode()
ISSUER = {"url": URL, "audiences": ["steer"], "certificateAuthority": PEM}
GOOD: Object = {
    "issuer": ISSUER,
    "claimMappings": {
        "username": {"claim": "sub", "prefix": "oidc:"},
        "groups": {"expression": "claims.roles"},
        "uid": {"claim": "sub"},
        "extra": [{"key": "example.com/a", "valueExpression": "claims.a"}],
    },
    "claimValidationRules": [
        {"claim": "hd", "requiredValue": "example.com"},
        {"expression": "claims.exp - claims.nbf <= 86400", "message": "too long"},
    ],
    "userValidationRules": [{"expression": "user.username != 'root'", "message": "no"}],
}


def write(folder: Path, *jwt: Any, **others: Any) -> Path:
    file = folder / "authentication.yaml"
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    file.write_text(yaml.safe_dump({**head, "jwt": list(jwt), **others}))
    return file


def test_a_whole_file(tmp_path: Path) -> None:
    settings = read_authentication_file(write(tmp_path, GOOD))
    (issuer,) = settings.issuers
    assert (issuer.url, issuer.audiences, issuer.authority, issuer.keys) == (URL, ("steer",), PEM, ())
    mappings = issuer.mappings
    assert (mappings.username, mappings.uid) == (Claim("sub", "oidc:"), Claim("sub"))
    assert isinstance(mappings.groups, Expression)
    assert mappings.required == (("hd", "example.com"),)
    assert [rule.message for rule in (*mappings.claim_rules, *mappings.user_rules)] == ["too long", "no"]
    assert [key for key, _ in mappings.extra] == ["example.com/a"]
    assert settings.anonymous == AnonymousAccess()


def test_keys_beside_the_file(tmp_path: Path) -> None:
    key = SigningKey.make().public
    (tmp_path / "keys.json").write_bytes(key_set([key]))
    (issuer,) = read_authentication_file(write(tmp_path, GOOD | {"jwksFile": "keys.json"})).issuers
    assert [each.id for each in issuer.keys] == [key.id]


def test_anonymous_requests_can_be_limited(tmp_path: Path) -> None:
    file = write(tmp_path, anonymous={"enabled": True, "conditions": [{"path": "/livez"}]})
    anonymous = read_authentication_file(file).anonymous
    assert (anonymous.allows("/livez"), anonymous.allows("/version")) == (True, False)
    nobody = read_authentication_file(write(tmp_path, anonymous={"enabled": False})).anonymous
    assert not nobody.allows("/livez")


def changed(**parts: Any) -> Object:
    return {"issuer": {**ISSUER, **parts}}


def mapped(**parts: Any) -> Object:
    return {"claimMappings": {**GOOD["claimMappings"], **parts}}


BAD: dict[str, tuple[Object, str]] = {
    "no URL": (changed(url=""), "jwt[0].issuer.url: Required value"),
    "not TLS": (
        changed(url="http://x"), 'jwt[0].issuer.url: Invalid value: "http://x": URL scheme must be https',
    ),
    "a secret in the URL": (
        changed(url="https://u:p@x"),
        'jwt[0].issuer.url: Invalid value: "https://u:p@x": URL must not contain a username or password',
    ),
    "the cluster itself": (
        changed(url=API_AUDIENCE),
        f'jwt[0].issuer.url: Invalid value: "{API_AUDIENCE}": URL must not overlap with disallowed issuers: '
        f"[{API_AUDIENCE}]",
    ),
    "the same URL for discovery": (
        changed(discoveryURL=URL + "/"),
        f'jwt[0].issuer.discoveryURL: Invalid value: "{URL}/": discoveryURL must be different from URL',
    ),
    "no audience": (
        changed(audiences=[]),
        "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
    ),
    "two audiences without a policy": (
        changed(audiences=["a", "b"]),
        'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for '
        "multiple audiences",
    ),
    "an authority that is none": (
        changed(certificateAuthority="x"),
        'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA '
        "or ECDSA certificates",
    ),
    "no username": (
        mapped(username={}), "jwt[0].claimMappings.username: Required value: claim or expression is required",
    ),
    "no prefix": (
        mapped(username={"claim": "sub"}),
        "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be "
        "set to an empty string to disable prefixing",
    ),
    "claim and expression": (
        mapped(uid={"claim": "sub", "expression": "claims.sub"}),
        'jwt[0].claimMappings.uid: Invalid value: "": claim and expression can\'t both be set',
    ),
    "an expression that does not compile": (
        mapped(username={"expression": "claim.sub"}),
        'jwt[0].claimMappings.username.expression: Invalid value: "claim.sub": compilation failed: ERROR: '
        "<input>:1:1: undeclared reference to 'claim' (in container '')  | claim.sub  | ^",
    ),
    "an address that may not be verified": (
        mapped(username={"expression": "claims.email"}),
        'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must '
        "be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or "
        "claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression",
    ),
    "a key of Kubernetes' own": (
        mapped(extra=[{"key": "a.k8s.io/b", "valueExpression": "''"}]),
        'jwt[0].claimMappings.extra[0].key: Invalid value: "a.k8s.io/b": k8s.io, kubernetes.io and their '
        "subdomains are reserved for Kubernetes use",
    ),
    "a rule that says nothing": (
        {"claimValidationRules": [{}]},
        "jwt[0].claimValidationRules[0]: Required value: claim or expression is required",
    ),
    "a rule that is no question": (
        {"userValidationRules": [{"expression": "user.username"}]},
        'jwt[0].userValidationRules[0].expression: Invalid value: "user.username": must evaluate to bool',
    ),
    "the same rule twice": (
        {"userValidationRules": [{"expression": "true"}, {"expression": "true"}]},
        'jwt[0].userValidationRules[1].expression: Duplicate value: "true"',
    ),
    "a field that nobody knows": (
        {"isuer": {}},
        "jwt[0].isuer: Invalid value: {}: unknown field; there are issuer, claimMappings, "
        "claimValidationRules, userValidationRules, jwksFile",
    ),
    "a list that is none": (changed(audiences="a"), 'jwt[0].issuer.audiences: Invalid value: "a": must be a list'),
    "no keys": (
        {"jwksFile": "none"}, 'jwt[0].jwksFile: Invalid value: "none": No such file or directory',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "why"), BAD.values(), ids=BAD)
def test_a_bad_file_is_one_line(tmp_path: Path, changes: Object, why: str) -> None:
    file = write(tmp_path, GOOD | changes)
    with pytest.raises(ConfigurationInvalid) as bad:
        read_authentication_file(file)
    assert str(bad.value) == f"{file}: {why}"


def test_an_address_that_is_verified(tmp_path: Path) -> None:
    username = {"expression": "claims.email_verified ? claims.email : ''"}
    assert read_authentication_file(write(tmp_path, GOOD | mapped(username=username))).issuers


def test_issuers_are_named_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match=f'jwt.1..issuer.url: Duplicate value: "{URL}"'):
        read_authentication_file(write(tmp_path, GOOD, GOOD))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param("[", "yaml: ", id="not YAML"),
        pytest.param("1", "authenticationConfiguration: Invalid value: 1: must be an object", id="a number"),
        pytest.param("kind: AuthenticationConfiguration", "apiVersion: Required value", id="no version"),
        pytest.param(
            "{apiVersion: v1, kind: Pod}", 'apiVersion: Unsupported value: "v1"', id="something else"
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(content)
    with pytest.raises(ConfigurationInvalid) as bad:
        read_authentication_file(file)
    assert str(bad.value).startswith(f"{file}: {why}")
    assert "\n" not in str(bad.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="No such file or directory"):
        read_authentication_file(tmp_path / "none.yaml")
