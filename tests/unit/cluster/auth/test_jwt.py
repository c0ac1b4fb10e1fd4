"""Tokens that were signed are believed; nothing else is."""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

from steersman.cluster.auth.errors import BadToken
from steersman.cluster.auth.jwt import SigningKey, VerificationKey, key_set, parse

KEY = SigningKey.make()
RSA = SigningKey(rsa.generate_private_key(65537, 2048))
CLAIMS = {"iss": "me", "sub": "you", "n": 1}


def encode(value: Any) -> str:
    data = value if isinstance(value, bytes) else orjson.dumps(value)
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "key",
    [KEY, RSA, *(SigningKey(ec.generate_private_key(curve)) for curve in (ec.SECP384R1(), ec.SECP521R1()))],
    ids=lambda key: key.public.algorithm,
)
def test_what_is_signed_can_be_verified(key: SigningKey) -> None:
    token = parse(key.sign(CLAIMS))
    token.verify([KEY.public, RSA.public, key.public])
    assert token.claims == CLAIMS
    assert token.header == {"alg": key.public.algorithm, "kid": key.public.id}
    assert SigningKey.load(key.pem()).public == key.public


@pytest.mark.parametrize("key", [KEY, RSA], ids=["EC", "RSA"])
def test_a_key_goes_through_its_key_set(key: SigningKey) -> None:
    (jwk,) = orjson.loads(key_set([key.public]))["keys"]
    assert not {"d", "p", "q"} & set(jwk)
    parse(key.sign(CLAIMS)).verify([VerificationKey.from_jwk(jwk)])


def test_a_signature_of_another_key_is_refused() -> None:
    token = parse(SigningKey.make().sign(CLAIMS))
    with pytest.raises(BadToken):
        token.verify([KEY.public])
    with pytest.raises(BadToken):
        token.verify([])


def signed_part(header: dict[str, Any]) -> str:
    return f"{encode(header)}.{encode(CLAIMS)}"


def test_no_algorithm_is_no_signature() -> None:
    for algorithm in ("none", "None", "NONE", ""):
        for signature in ("", encode(b"x" * 64)):
            token = parse(f"{signed_part({'alg': algorithm})}.{signature}")
            with pytest.raises(BadToken):
                token.verify([KEY.public, RSA.public])


@pytest.mark.parametrize("key", [KEY, RSA], ids=["EC", "RSA"])
def test_a_public_key_is_not_taken_for_a_shared_secret(key: SigningKey) -> None:
    pem = key.public.public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    text = signed_part({"alg": "HS256", "kid": key.public.id})
    signature = hmac.new(pem, text.encode(), hashlib.sha256).digest()
    with pytest.raises(BadToken):
        parse(f"{text}.{encode(signature)}").verify([key.public])


def test_a_key_is_used_with_its_own_algorithm_only() -> None:
    _head, body, signature = KEY.sign(CLAIMS).split(".")
    for algorithm in ("ES384", "RS256", "EdDSA"):
        swapped = encode({"alg": algorithm, "kid": KEY.public.id})
        with pytest.raises(BadToken):
            parse(f"{swapped}.{body}.{signature}").verify([KEY.public])
    with pytest.raises(ValueError, match="cannot be used for RS256"):
        VerificationKey.of(KEY.public.public, algorithm="RS256")


def test_changed_claims_are_noticed() -> None:
    head, _, signature = KEY.sign(CLAIMS).split(".")
    with pytest.raises(BadToken):
        parse(f"{head}.{encode({**CLAIMS, 'sub': 'admin'})}.{signature}").verify([KEY.public])


def test_a_token_that_names_a_key_is_not_tried_with_others() -> None:
    token = parse(KEY.sign(CLAIMS))._replace(header={"alg": "ES256", "kid": "other"})
    with pytest.raises(BadToken):
        token.verify([KEY.public])


def test_a_token_that_names_no_key_is_tried_with_all() -> None:
    plain = VerificationKey.of(KEY.public.public, "")
    parse(KEY.sign(CLAIMS))._replace(header={"alg": "ES256"}).verify([RSA.public, plain, KEY.public])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "..",
        "a.b",
        "a.b.c.d",
        f"{encode({'alg': 'ES256'})}.{encode(CLAIMS)}.=",
        f"{encode({'alg': 'ES256'})}.{encode(CLAIMS)}.a+b/",
        f"{encode([])}.{encode(CLAIMS)}.",
        f"{encode({'alg': 'ES256'})}.{encode([1])}.",
        f"{encode({'alg': 1})}.{encode(CLAIMS)}.",
        f"{encode({})}.{encode(CLAIMS)}.",
        f"{encode({'alg': 'ES256', 'kid': 7})}.{encode(CLAIMS)}.",
        f"{encode({'alg': 'ES256', 'crit': ['x']})}.{encode(CLAIMS)}.",
        f"{encode(b'{')}.{encode(CLAIMS)}.",
        f"{encode({'alg': 'ES256'})}.{encode(b'[' * 2000)}.",
        f"{encode({'alg': 'ES256'})}.{'A' * 20000}.",
        "\u00e9.\u4e2d.\ud800",
    ],
    ids=lambda text: repr(text[:40]),
)
def test_what_is_no_token_is_refused_as_such(text: str) -> None:
    with pytest.raises(BadToken):
        parse(text)


def test_damaged_tokens_never_pass_and_never_break() -> None:
    source = random.Random(7)
    for original in (KEY.sign(CLAIMS), RSA.sign(CLAIMS)):
        for _ in range(400):
            characters = list(original)
            for _ in range(source.randint(1, 3)):
                place = source.randrange(len(characters))
                match source.randrange(3):
                    case 0:
                        characters[place] = source.choice("ABCabc019-_.=+/\x00\u00e9")
                    case 1:
                        del characters[place]
                    case 2:
                        characters.insert(place, source.choice("AZaz09-_."))
            damaged = "".join(characters)
            try:
                token = parse(damaged)
                token.verify([KEY.public, RSA.public])
            except BadToken:
                continue
            # Base64 leaves bits unused at its end: the same bytes, written otherwise.
            assert (token.claims, token.signature) == (CLAIMS, parse(original).signature)


@pytest.mark.parametrize(
    "public",
    [
        ec.generate_private_key(ec.SECP256K1()).public_key(),
        rsa.generate_private_key(65537, 1024).public_key(),
        dsa.generate_private_key(2048).public_key(),
    ],
    ids=["another curve", "short RSA", "DSA"],
)
def test_weak_and_strange_keys_are_not_taken(public: Any) -> None:
    with pytest.raises(ValueError, match="keys must be"):
        VerificationKey.of(public)


def test_a_signing_key_must_be_able_to_sign() -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(ValueError, match="RSA or elliptic-curve"):
        SigningKey.load(pem)


ED25519 = VerificationKey.of(ed25519.Ed25519PrivateKey.generate().public_key()).jwk()


def test_a_key_of_a_set_need_not_name_its_algorithm() -> None:
    assert VerificationKey.from_jwk(ED25519).algorithm == "EdDSA"
    assert VerificationKey.from_jwk({**ED25519, "alg": ""}).algorithm == "EdDSA"
    silent = {key: value for key, value in ED25519.items() if key != "alg"}
    assert VerificationKey.from_jwk(silent).algorithm == "EdDSA"


@pytest.mark.parametrize(
    "jwk",
    [
        {},
        {"kty": "oct", "k": "AAAA"},
        {"kty": "EC", "crv": "P-256", "x": "AA"},
        {"kty": "EC", "crv": "P-1", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB"},
        {"kty": "RSA", "n": 5, "e": "AQAB"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {**ED25519, "crv": "X25519"},
        {**ED25519, "alg": "ES256"},
    ],
)
def test_unusable_keys_of_a_set_are_refused(jwk: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        VerificationKey.from_jwk(jwk)
