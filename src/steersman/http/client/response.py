"""What comes back: whole (`ClientResponse`) or as it arrives (`StreamingResponse`)."""

from __future__ import annotations

from collections.abc import AsyncIterator

from steersman.http.body import Body
from steersman.http.coding import CodingError, Inflated, OutputTooLarge, inflate
from steersman.http.errors import ProtocolError
from steersman.http.headers import Headers

__all__ = ["ClientResponse", "Lines", "StreamingResponse"]


class ClientResponse:
    """A complete answer, decompressed."""

    __slots__ = ("content", "headers", "status")

    def __init__(self, status: int, headers: Headers, content: bytes) -> None:
        self.status = status
        self.headers = headers
        self.content = content

    def __repr__(self) -> str:
        return f"<ClientResponse {self.status}>"


class StreamingResponse:
    """An answer whose body is still coming; reading slowly slows the server down."""

    __slots__ = ("_body", "_gzipped", "headers", "status")

    def __init__(self, status: int, headers: Headers, body: Body) -> None:
        self.status = status
        self.headers = headers
        self._body = body
        self._gzipped = is_gzip(headers)

    @property
    def complete(self) -> bool:
        """Whether all of it has been received."""
        return self._body.complete

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, decompressed. To be read once."""
        return Inflated(self._body, ProtocolError) if self._gzipped else self._body

    def lines(self, max_line_bytes: int = 64 << 20) -> AsyncIterator[bytes]:
        r"""The body line by line, without the line ends (`\n`)."""
        return Lines(self.chunks(), max_line_bytes)

    async def read(self) -> bytes:
        """All that is left."""
        return b"".join([chunk async for chunk in self.chunks()])


class Lines:
    """Chunks cut at line ends, a line at a time.

    Cut all at once, lines that are let go one by one would leave holes between what readers keep of them.
    """

    __slots__ = ("_chunk", "_limit", "_partial", "_size", "_source", "_start")

    def __init__(self, source: AsyncIterator[bytes], max_line_bytes: int) -> None:
        self._source = source
        self._limit = max_line_bytes
        #: The newest chunk, and where in it the next line starts.
        self._chunk = b""
        self._start = 0
        #: The beginning of that line, if it is in earlier chunks.
        self._partial: list[bytes] = []
        self._size = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while (end := self._chunk.find(b"\n", self._start)) < 0:
            self._set_aside(self._chunk[self._start :])
            self._chunk, self._start = b"", 0
            try:
                self._chunk = await anext(self._source)
            except StopAsyncIteration:
                if not self._partial:
                    raise
                return self._joined(b"")
        line = self._chunk[self._start : end]
        self._start = end + 1
        return self._joined(line) if self._partial else line

    def _set_aside(self, rest: bytes) -> None:
        if rest:
            self._partial.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise ProtocolError(f"a line is longer than {self._limit} bytes")

    def _joined(self, end: bytes) -> bytes:
        line = b"".join((*self._partial, end))
        self._partial.clear()
        self._size = 0
        return line


def is_gzip(headers: Headers) -> bool:
    return "content-encoding" in headers and headers.tokens("content-encoding") in (["gzip"], ["x-gzip"])


def decode(headers: Headers, content: bytes, max_bytes: int) -> bytes:
    """The plain content of a whole body."""
    if not content or not is_gzip(headers):
        return content
    try:
        return inflate(content, max_bytes)
    except CodingError as error:
        raise ProtocolError(str(error)) from error
    except OutputTooLarge:
        raise ProtocolError(f"the response is larger than {max_bytes} bytes") from None
