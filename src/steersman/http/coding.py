"""The gzip content coding: negotiated, compressed, and decompressed without trusting the sender.

Used by the server for request and response bodies and by the client for responses.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable

from steersman.http.headers import Headers

__all__ = ["CodingError", "Inflated", "OutputTooLarge", "accepts_gzip", "deflater", "inflate"]

_GZIP_WBITS = 31
_STEP_BYTES = 256 << 10


class CodingError(Exception):
    """The data is not what its Content-Encoding says."""


class OutputTooLarge(Exception):
    """The data decompresses to more than the limit."""


def deflater() -> zlib._Compress:
    """A gzip compressor at level 1: lists of objects shrink tenfold; more costs more than it saves."""
    return zlib.compressobj(1, zlib.DEFLATED, _GZIP_WBITS)


def accepts_gzip(headers: Headers) -> bool:
    """Whether Accept-Encoding allows gzip: named with q > 0, or by `*` when not named."""
    wildcard = False
    for token in headers.tokens("accept-encoding"):
        coding, _, parameters = token.partition(";")
        coding = coding.strip()
        if coding not in ("gzip", "x-gzip", "*"):
            continue
        allowed = _quality(parameters) > 0
        if coding != "*":
            return allowed
        wildcard = allowed
    return wildcard


def _quality(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def inflate(data: bytes, limit_bytes: int) -> bytes:
    """Decompress a whole body, never producing more than the limit and one byte."""
    decoder = zlib.decompressobj(_GZIP_WBITS)
    try:
        plain = decoder.decompress(data, limit_bytes + 1)
    except zlib.error as error:
        raise CodingError("the body is not valid gzip") from error
    if len(plain) > limit_bytes:
        raise OutputTooLarge
    if not decoder.eof or decoder.unused_data:
        raise CodingError("the gzip body is truncated or followed by other data")
    return plain


class Inflated:
    """A gzip-coded stream of chunks as a stream of plain chunks, each at most 256 KiB.

    Decompression happens on the reader's side, one bounded step per chunk, so a small compressed
    chunk that expands a thousandfold never exists in memory as a whole.
    """

    __slots__ = ("_decoder", "_error", "_source")

    def __init__(self, source: AsyncIterator[bytes], error: Callable[[str], Exception]) -> None:
        """`error` makes the exception to raise when the data is not gzip."""
        self._source = source
        self._error = error
        self._decoder = zlib.decompressobj(_GZIP_WBITS)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        decoder = self._decoder
        while True:
            data = decoder.unconsumed_tail
            if not data:
                try:
                    data = await anext(self._source)
                except StopAsyncIteration:
                    if not decoder.eof:
                        raise self._error("the gzip stream is truncated") from None
                    raise
            if decoder.eof:
                raise self._error("data after the end of the gzip stream")
            try:
                plain = decoder.decompress(data, _STEP_BYTES)
            except zlib.error as error:
                raise self._error("the stream is not valid gzip") from error
            if plain:
                return plain
