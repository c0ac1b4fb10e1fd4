"""Responses, and how their header is written.

The connection adds Content-Length, Date and Connection; handlers give the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from http import HTTPStatus

from steersman.http.headers import RawHeaders

__all__ = [
    "Content",
    "Joined",
    "Response",
    "batches",
    "encode_fields",
    "encode_head",
    "plain_text",
    "status_line",
]

BATCH_BYTES = 256 << 10
#: A Joined body is written in about so many parts. Each wakes its reader, so large bodies have large parts
#: (22 MB in parts of 512 KiB took 5 to 12 % less CPU than in parts of 128); but what TLS buffers of a part
#: stays with the connection, and a part shall still be in the cache when it is encrypted.
_PARTS = 32
_SMALLEST_PART, _LARGEST_PART = 64 << 10, 512 << 10
_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


class Joined:
    """A body of many values with a separator between them, joined part by part as the peer takes it.

    A list of 20,000 objects is 25 MB: joined at once it would be touched three times in memory too large
    for any cache, and stay in the process's size.
    """

    __slots__ = ("_closing", "_opening", "_separator", "_values", "size")

    def __init__(
        self,
        opening: bytes,
        values: Sequence[bytes],
        separator: bytes,
        closing: bytes,
        size: int | None = None,
    ) -> None:
        """`size` is that of all values together, if it is known."""
        self._opening = opening
        self._values = values
        self._separator = separator
        self._closing = closing
        if size is None:
            size = sum(map(len, values))
        self.size = len(opening) + size + len(separator) * max(len(values) - 1, 0) + len(closing)

    def __iter__(self) -> Iterator[bytes]:
        values, separator = self._values, self._separator
        part_bytes = min(max(self.size // _PARTS, _SMALLEST_PART), _LARGEST_PART)
        step = max(1, part_bytes * len(values) // self.size)
        yield self._opening + separator.join(values[:step])
        for start in range(step, len(values), step):
            part = list(values[start : start + step])
            # Behind an empty value they begin with the separator, without another copy of all of it.
            part.insert(0, b"")
            yield separator.join(part)
        yield self._closing


Content = bytes | Sequence[bytes] | Joined


class Response:
    """A complete answer. A body given as pieces is written piece by piece and never joined as a whole."""

    __slots__ = ("body", "compressible", "headers", "status")

    def __init__(
        self,
        status: int = 200,
        body: Content = b"",
        headers: RawHeaders = (),
        *,
        compressible: bool = True,
    ) -> None:
        self.status = status
        self.body = body
        self.headers = headers
        self.compressible = compressible

    def __repr__(self) -> str:
        return f"<Response {self.status}>"


def plain_text(status: int, message: str, headers: RawHeaders = ()) -> Response:
    return Response(
        status,
        message.encode() + b"\n",
        ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"), *headers),
    )


def status_line(status: int) -> bytes:
    line = _STATUS_LINES.get(status)
    if line is None:
        if not 100 <= status <= 999:
            raise ValueError(f"{status} is not an HTTP status")
        line = b"HTTP/1.1 %d Unknown\r\n" % status
    return line


def encode_fields(headers: RawHeaders) -> bytes:
    """Header lines. Tuples come again and again and are encoded once."""
    return _encoded_tuple(headers) if isinstance(headers, tuple) else _encoded(headers)


@lru_cache(maxsize=1024)
def _encoded_tuple(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return _encoded(headers)


def _encoded(headers: RawHeaders) -> bytes:
    fields = b"".join([b"%b: %b\r\n" % field for field in headers])
    if fields.count(b"\n") != len(headers) or fields.count(b"\r") != len(headers):
        raise ValueError("a header field contains a line break")
    return fields


def encode_head(start: bytes, headers: RawHeaders, framing: bytes) -> bytes:
    """The whole head. `start` and `framing` are complete lines of this package's own making."""
    return b"%b%b%b\r\n" % (start, encode_fields(headers), framing)


def batches(body: Content) -> Iterator[bytes | memoryview]:
    """`body` in parts of about 256 KiB: large pieces are cut without copying, small ones joined.

    A part is large enough that per-write costs vanish (a TLS write is ~5 µs) and small enough that
    pausing between parts bounds what waits in memory.
    """
    if isinstance(body, Joined):
        yield from body
        return
    group: list[bytes] = []
    size = 0
    for piece in (body,) if isinstance(body, bytes) else body:
        if size and size + len(piece) > BATCH_BYTES:
            yield b"".join(group)
            group, size = [], 0
        if len(piece) > BATCH_BYTES:
            view = memoryview(piece)
            for start in range(0, len(piece), BATCH_BYTES):
                yield view[start : start + BATCH_BYTES]
        else:
            group.append(piece)
            size += len(piece)
    if size:
        yield b"".join(group)
