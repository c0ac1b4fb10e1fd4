"""Header blocks of SPDY/3: names and values, compressed with a dictionary both sides know.

One compressor serves a connection in each direction, and its state goes from block to block: every block must
be encoded and decoded, in order.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final

from steersman.http.spdy.errors import SpdyViolation

__all__ = ["DICTIONARY", "BlockDecoder", "BlockEncoder"]

#: SPDY/3 draft, section 2.6.10.1: each word after its length, then text without lengths.
_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language "
    "accept-ranges age allow authorization cache-control connection content-base content-encoding "
    "content-language content-length content-location content-md5 content-range content-type date etag "
    "expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since "
    "last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer "
    "retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate "
    "method get status|200 OK|version HTTP/1.1 url public set-cookie keep-alive origin"
)
_TEXT: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _words() -> list[str]:
    before, phrase, after = _WORDS.split("|")
    return [*before.split(), phrase, *after.split()]


DICTIONARY: Final = (
    b"".join(struct.pack("!I", len(word)) + word.encode() for word in _words()) + _TEXT.encode()
)

_MAX_BLOCK_BYTES: Final = 64 << 10
_LENGTH: Final = struct.Struct("!I")


class BlockEncoder:
    __slots__ = ("_compressor",)

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(zdict=DICTIONARY)

    def encode(self, headers: Mapping[str, str]) -> bytes:
        """Names go out in lower case, which the protocol asks for."""
        block = bytearray(_LENGTH.pack(len(headers)))
        for field in headers.items():
            for text in (field[0].lower(), field[1]):
                data = text.encode("latin-1")
                block += _LENGTH.pack(len(data)) + data
        return self._compressor.compress(block) + self._compressor.flush(zlib.Z_SYNC_FLUSH)


class BlockDecoder:
    __slots__ = ("_decompressor",)

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(zdict=DICTIONARY)

    def decode(self, data: bytes) -> dict[str, str]:
        """Raises `SpdyViolation`. Several values of one name are joined by NUL, as they came."""
        try:
            block = self._decompressor.decompress(data, _MAX_BLOCK_BYTES)
        except zlib.error as error:
            raise SpdyViolation(f"a header block cannot be decompressed: {error}") from error
        if self._decompressor.unconsumed_tail or self._decompressor.eof:
            raise SpdyViolation(f"a header block is larger than {_MAX_BLOCK_BYTES} bytes or ends its stream")
        return _parse(block)


def _parse(block: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    try:
        (count,) = _LENGTH.unpack_from(block)
        position = _LENGTH.size
        for _ in range(count):
            name, position = _text(block, position)
            value, position = _text(block, position)
            if name in headers:
                raise SpdyViolation(f"header {name!r} comes twice")
            headers[name] = value
    except struct.error:
        raise SpdyViolation("a header block is cut off") from None
    if position != len(block):
        raise SpdyViolation("a header block is longer than its headers")
    return headers


def _text(block: bytes, position: int) -> tuple[str, int]:
    (size,) = _LENGTH.unpack_from(block, position)
    start = position + _LENGTH.size
    if start + size > len(block):
        raise SpdyViolation("a header block is cut off")
    return block[start : start + size].decode("latin-1"), start + size
