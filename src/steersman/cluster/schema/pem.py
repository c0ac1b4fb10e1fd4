"""PEM blocks, read as Go reads them, and the certificate requests that they hold.

Validation, admission and signing read requests here, so that what was checked is what is signed.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

from cryptography import x509

__all__ = ["Block", "blocks", "certificate_request"]

_block = re.compile(r"^-----BEGIN ([^\n\r]*?)-----[ \t\r]*\n(.*?)^-----END \1-----", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between a BEGIN and its END."""

    type: str
    has_headers: bool
    data: bytes


def blocks(text: str) -> Iterator[Block]:
    """The blocks in the order they stand; whatever is no block is skipped over."""
    for found in _block.finditer(text):
        head, separator, rest = found[2].partition("\n\n")
        has_headers = bool(separator) and ":" in head
        try:
            data = b64decode("".join((rest if has_headers else found[2]).split()), validate=True)
        except (binascii.Error, ValueError):
            continue
        yield Block(found[1], has_headers, data)


def certificate_request(encoded: str) -> x509.CertificateSigningRequest:
    """spec.request of a CertificateSigningRequest: the first block in this base64 text.

    Its subject, key and extensions can be read without surprises afterwards. Raises ValueError.
    """
    first = next(blocks(b64decode(encoded).decode("latin-1")), None)
    if first is None or first.type != "CERTIFICATE REQUEST":
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_der_x509_csr(first.data)
        # The library decodes these when they are asked for.
        _ = request.subject, request.extensions, request.public_key()
    except Exception as error:
        raise ValueError(f"asn1: structure error: {error}") from error
    return request
