"""Whether a certificate and a private key belong together, in the words the API server has for it.

Only TLS secrets ask, and only to warn: a secret with a broken pair is stored all the same.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_der_private_key

__all__ = ["key_pair_problem"]

_BLOCK: Final = re.compile(rb"-----BEGIN ([^\n-]+)-----\s+(.*?)-----END \1-----", re.DOTALL)
_HEADERS: Final = re.compile(rb"\A(?:[^\n:]+:[^\n]*\n)+\n")
_PUBLIC_KINDS: Final = (
    (rsa.RSAPublicKey, rsa.RSAPrivateKey),
    (ec.EllipticCurvePublicKey, ec.EllipticCurvePrivateKey),
    (ed25519.Ed25519PublicKey, ed25519.Ed25519PrivateKey),
)


def key_pair_problem(certificate: str, key: str) -> str:
    """What is wrong with this pair of base64 PEM texts; "" if nothing is."""
    certificate_blocks, key_blocks = _blocks(certificate), _blocks(key)
    certificates = [content for kind, content in certificate_blocks if kind == "CERTIFICATE"]
    if not certificates:
        return _no_certificate([kind for kind, _ in certificate_blocks])
    keys = [content for kind, content in key_blocks if kind.split(" ")[-2:] == ["PRIVATE", "KEY"]]
    if not keys:
        return _no_key([kind for kind, _ in key_blocks])
    return _mismatch(certificates[0], keys[0])


def _blocks(encoded: str) -> list[tuple[str, bytes]]:
    found = []
    for kind, body in _BLOCK.findall(b64decode(encoded)):
        try:
            found.append((kind.decode(errors="replace"), b64decode(_HEADERS.sub(b"", body))))
        except binascii.Error:
            continue
    return found


def _no_certificate(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks '
        f"of the following types: [{' '.join(kinds)}]"
    )


def _no_key(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if kinds == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input '
        f"after skipping PEM blocks of the following types: [{' '.join(kinds)}]"
    )


def _mismatch(certificate: bytes, key: bytes) -> str:
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        private = load_der_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    for public_kind, private_kind in _PUBLIC_KINDS:
        if isinstance(public, public_kind):
            if not isinstance(private, private_kind):
                return "tls: private key type does not match public key type"
            return "" if private.public_key() == public else "tls: private key does not match public key"
    return "tls: unknown public key algorithm"
