"""JSON Web Tokens: signing, parsing and verifying. Compact serialization only.

The key determines the algorithm, never the token: a token whose header names another one is rejected, so
`none`, or an HMAC made with a public key, cannot pass. The meaning of claims is left to callers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from steersman.cluster.auth.errors import BadToken

__all__ = [
    "BadToken",
    "JsonWebToken",
    "PrivateKey",
    "PublicKey",
    "SigningKey",
    "VerificationKey",
    "key_set",
    "parse",
]

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey

#: Longer ones are nobody's; they are refused before any work is done.
_LONGEST = 16 << 10
_CURVES: Mapping[str, tuple[str, int, type[ec.EllipticCurve], hashes.HashAlgorithm]] = {
    "secp256r1": ("ES256", 32, ec.SECP256R1, hashes.SHA256()),
    "secp384r1": ("ES384", 48, ec.SECP384R1, hashes.SHA384()),
    "secp521r1": ("ES512", 66, ec.SECP521R1, hashes.SHA512()),
}
_CURVE_NAMES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
_RSA: Mapping[str, hashes.HashAlgorithm] = {
    "RS256": hashes.SHA256(),
    "RS384": hashes.SHA384(),
    "RS512": hashes.SHA512(),
}
#: Keys that can be broken by patience are not keys.
_SHORTEST_RSA_BITS = 2048


def _decode(text: str) -> bytes:
    if not text.isascii() or "=" in text or "+" in text or "/" in text:
        raise BadToken("illegal base64 data")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadToken("illegal base64 data") from None


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int, length: int = 0) -> str:
    return _encode(value.to_bytes(length or (value.bit_length() + 7) // 8))


class JsonWebToken(NamedTuple):
    """A parsed token. Nothing in it may be trusted before `verify`."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signed: bytes
    signature: bytes

    def verify(self, keys: Iterable[VerificationKey]) -> None:
        """Return if one of the keys signed it; BadToken otherwise."""
        key_id = self.header.get("kid") or ""
        for key in keys:
            if (not key_id or key.id == key_id) and key.verifies(self):
                return
        raise BadToken("go-jose/go-jose: error in cryptographic primitive")


def parse(text: str) -> JsonWebToken:
    """Take a token apart. Raises BadToken."""
    if len(text) > _LONGEST or text.count(".") != 2:
        raise BadToken("not a compact token")
    head, body, signature = text.split(".")
    header, claims = _object(head), _object(body)
    if "crit" in header:
        raise BadToken("unsupported crit header")
    if not isinstance(header.get("kid", ""), str) or not isinstance(header.get("alg"), str):
        raise BadToken("malformed header")
    return JsonWebToken(header, claims, f"{head}.{body}".encode(), _decode(signature))


def _object(part: str) -> dict[str, Any]:
    try:
        value = orjson.loads(_decode(part))
    except orjson.JSONDecodeError:
        raise BadToken("malformed JSON") from None
    if not isinstance(value, dict):
        raise BadToken("malformed JSON")
    return value


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, the one algorithm it is used with, and its id."""

    public: PublicKey
    algorithm: str
    id: str = ""

    @classmethod
    def of(cls, public: PublicKey, key_id: str | None = None, algorithm: str = "") -> VerificationKey:
        """Raises ValueError when the key is of a kind, or too weak, to be trusted with tokens."""
        fitting = _algorithms(public)
        if algorithm and algorithm not in fitting:
            raise ValueError(f"a key for {fitting[0]} cannot be used for {algorithm}")
        return cls(public, algorithm or fitting[0], _key_id(public) if key_id is None else key_id)

    @classmethod
    def from_jwk(cls, jwk: Mapping[str, Any]) -> VerificationKey:
        """A key of a JSON Web Key Set. Raises ValueError when it cannot be used."""
        try:
            public = _public_of(jwk)
        except (BadToken, KeyError, TypeError, AttributeError) as error:
            raise ValueError("malformed key") from error
        return cls.of(public, str(jwk.get("kid") or ""), str(jwk.get("alg") or ""))

    def verifies(self, token: JsonWebToken) -> bool:
        if token.header.get("alg") != self.algorithm:
            return False
        try:
            self._check(token)
        except (InvalidSignature, ValueError):
            return False
        return True

    def _check(self, token: JsonWebToken) -> None:
        public, signature = self.public, token.signature
        match public:
            case ec.EllipticCurvePublicKey():
                _, size, _, digest = _CURVES[public.curve.name]
                if len(signature) != 2 * size:
                    raise InvalidSignature
                halves = (int.from_bytes(signature[:size]), int.from_bytes(signature[size:]))
                public.verify(encode_dss_signature(*halves), token.signed, ec.ECDSA(digest))
            case rsa.RSAPublicKey():
                public.verify(signature, token.signed, padding.PKCS1v15(), _RSA[self.algorithm])
            case ed25519.Ed25519PublicKey():
                public.verify(signature, token.signed)

    def jwk(self) -> dict[str, str]:
        """The key as relying parties read it."""
        jwk = {"use": "sig", "kid": self.id, "alg": self.algorithm}
        match self.public:
            case ec.EllipticCurvePublicKey() as public:
                numbers = public.public_numbers()
                size = _CURVES[public.curve.name][1]
                crv = _CURVE_NAMES[public.curve.name]
                jwk |= {"kty": "EC", "crv": crv, "x": _number(numbers.x, size), "y": _number(numbers.y, size)}
            case rsa.RSAPublicKey() as public:
                moduli = public.public_numbers()
                jwk |= {"kty": "RSA", "n": _number(moduli.n), "e": _number(moduli.e)}
            case ed25519.Ed25519PublicKey() as public:
                jwk |= {"kty": "OKP", "crv": "Ed25519", "x": _encode(public.public_bytes_raw())}
        return jwk


def _algorithms(public: PublicKey) -> Sequence[str]:
    match public:
        case ec.EllipticCurvePublicKey() if public.curve.name in _CURVES:
            return (_CURVES[public.curve.name][0],)
        case rsa.RSAPublicKey() if public.key_size >= _SHORTEST_RSA_BITS:
            return tuple(_RSA)
        case ed25519.Ed25519PublicKey():
            return ("EdDSA",)
    raise ValueError("keys must be RSA of at least 2048 bits, P-256, P-384, P-521 or Ed25519")


def _public_of(jwk: Mapping[str, Any]) -> PublicKey:
    def number(name: str) -> int:
        return int.from_bytes(_decode(jwk[name]))

    match jwk.get("kty"):
        case "EC":
            curve = next((name for name, crv in _CURVE_NAMES.items() if crv == jwk["crv"]), "")
            return ec.EllipticCurvePublicNumbers(number("x"), number("y"), _CURVES[curve][2]()).public_key()
        case "RSA":
            return rsa.RSAPublicNumbers(number("e"), number("n")).public_key()
        case "OKP" if jwk.get("crv") == "Ed25519":
            return ed25519.Ed25519PublicKey.from_public_bytes(_decode(jwk["x"]))
    raise ValueError(f"unknown kind of key {jwk.get('kty')!r}")


def _key_id(public: PublicKey) -> str:
    """A name for a key that gives nothing of it away: the digest of its usual encoding."""
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _encode(hashlib.sha256(der).digest())


def key_set(keys: Iterable[VerificationKey]) -> bytes:
    """A JSON Web Key Set."""
    return orjson.dumps({"keys": [key.jwk() for key in keys]})


class SigningKey:
    """A private key that signs tokens."""

    def __init__(self, private: PrivateKey) -> None:
        self._private = private
        self.public = VerificationKey.of(private.public_key())
        self._head = _encode(orjson.dumps({"alg": self.public.algorithm, "kid": self.public.id}))

    @classmethod
    def make(cls) -> SigningKey:
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def load(cls, pem: bytes) -> SigningKey:
        """Raises ValueError when it is not a private key that can sign tokens."""
        private = serialization.load_pem_private_key(pem, None)
        if not isinstance(private, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
            raise ValueError("tokens are signed with RSA or elliptic-curve keys")
        return cls(private)

    def pem(self) -> bytes:
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def sign(self, claims: Mapping[str, Any]) -> str:
        text = f"{self._head}.{_encode(orjson.dumps(claims))}"
        private = self._private
        if isinstance(private, rsa.RSAPrivateKey):
            signature = private.sign(text.encode(), padding.PKCS1v15(), _RSA[self.public.algorithm])
        else:
            _, size, _, digest = _CURVES[private.curve.name]
            halves = decode_dss_signature(private.sign(text.encode(), ec.ECDSA(digest)))
            signature = b"".join(half.to_bytes(size) for half in halves)
        return f"{text}.{_encode(signature)}"
