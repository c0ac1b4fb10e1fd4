"""PEM blocks, read as Go reads them: whatever is no block is skipped over. Called by certificates.py."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Block", "blocks"]

_block = re.compile(r"^-----BEGIN ([^\n\r]*?)-----[ \t\r]*\n(.*?)^-----END \1-----", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between a BEGIN and its END."""

    type: str
    has_headers: bool
    data: bytes


def blocks(text: str) -> Iterator[Block]:
    """The blocks in the order they stand."""
    for found in _block.finditer(text):
        head, separator, rest = found[2].partition("\n\n")
        has_headers = bool(separator) and ":" in head
        try:
            data = b64decode("".join((rest if has_headers else found[2]).split()), validate=True)
        except (binascii.Error, ValueError):
            continue
        yield Block(found[1], has_headers, data)
