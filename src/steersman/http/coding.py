"""The gzip content coding: negotiated, compressed, and decompressed without trusting the sender.

Used by the server for request and response bodies and by the client for responses.

A gzip stream is a row of members, each compressed for itself; what it says is their contents, one after the
other (RFC 1952, 2.2). kube-apiserver makes a member of every flush of a WatchList, so that events arrive when
they happen, and a member may end in the middle of a line. A stream may end between members, not within one.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable

from steersman.http.headers import Headers

__all__ = ["CodingError", "Inflated", "OutputTooLarge", "accepts_gzip", "deflater", "inflate"]

_GZIP_WBITS = 31
_STEP_BYTES = 256 << 10
#: What is given to zlib at once. What follows the end of a member is given again, so rows of tiny members
#: would cost the square of their number if it were more.
_SLICE_BYTES = 16 << 10
#: Members that a body may have, and members without contents that a stream may have in a row: each costs
#: its sender 20 bytes and its reader some microseconds.
_MOST_MEMBERS = 1000


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


class _Members:
    """The contents of gzip members, from bytes that come in pieces of any size. Without I/O."""

    __slots__ = ("_decoder", "_held_back", "_input", "_position", "count", "empty_in_a_row")

    def __init__(self) -> None:
        self._decoder: zlib._Decompress | None = None
        self._input = b""
        #: How much of the input is used up.
        self._position = 0
        #: Whether zlib may have more contents of what it was given.
        self._held_back = False
        self.count = 0
        self.empty_in_a_row = 0

    @property
    def complete(self) -> bool:
        """Whether the stream may end here: no member has begun that has not ended."""
        return self._decoder is None

    def feed(self, data: bytes) -> None:
        """To be called when `read` has nothing more."""
        self._input, self._position = data, 0

    def read(self, most: int) -> bytes:
        """The next contents, at most so many bytes; nothing if the next piece is needed for them. Raises
        `CodingError`."""
        while self._held_back or self._position < len(self._input):
            if self._decoder is None:
                self._begin()
            if plain := self._step(most):
                return plain
        return b""

    def _begin(self) -> None:
        self._decoder = zlib.decompressobj(_GZIP_WBITS)
        self.count += 1
        self.empty_in_a_row += 1
        if self.empty_in_a_row > _MOST_MEMBERS:
            raise CodingError("too many gzip members without contents")

    def _step(self, most: int) -> bytes:
        decoder = self._decoder
        assert decoder is not None
        given = self._input[self._position : self._position + _SLICE_BYTES]
        try:
            plain = decoder.decompress(given, most)
        except zlib.error as error:
            raise CodingError("the data is not valid gzip") from error
        # At the end of a member zlib may show what is left in both.
        left = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
        self._position += len(given) - len(left)
        self._held_back = len(plain) == most and not decoder.eof
        if plain:
            self.empty_in_a_row = 0
        if decoder.eof:
            self._decoder = None
        return plain


def inflate(data: bytes, limit_bytes: int) -> bytes:
    """Decompress a whole body, never producing more than the limit and one step."""
    members, parts, size = _Members(), list[bytes](), 0
    members.feed(data)
    while plain := members.read(min(limit_bytes + 1, _STEP_BYTES)):
        parts.append(plain)
        size += len(plain)
        if size > limit_bytes:
            raise OutputTooLarge
        if members.count > _MOST_MEMBERS:
            raise CodingError("the gzip body has too many members")
    if not members.complete:
        raise CodingError("the gzip body is truncated")
    return b"".join(parts)


class Inflated:
    """A gzip-coded stream of chunks as a stream of plain chunks, each at most 256 KiB.

    Decompression happens on the reader's side, one bounded step per chunk, so a small compressed
    chunk that expands a thousandfold never exists in memory as a whole.
    """

    __slots__ = ("_error", "_members", "_source")

    def __init__(self, source: AsyncIterator[bytes], error: Callable[[str], Exception]) -> None:
        """`error` makes the exception to raise when the data is not gzip."""
        self._source = source
        self._error = error
        self._members = _Members()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while True:
            try:
                plain = self._members.read(_STEP_BYTES)
            except CodingError as error:
                raise self._error(str(error)) from error
            if plain:
                return plain
            try:
                self._members.feed(await anext(self._source))
            except StopAsyncIteration:
                if not self._members.complete:
                    raise self._error("the gzip stream is truncated") from None
                raise
