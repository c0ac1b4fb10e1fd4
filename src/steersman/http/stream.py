"""A response in progress whose length is not known: watch streams, logs.

Written by the application at its own pace; `write` never waits, so whoever feeds many streams looks
at `buffered` and drops the ones that do not keep up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

__all__ = ["Stream", "StreamHost"]

_JOIN_BYTES = 64 << 10


class StreamHost(Protocol):
    """What a stream needs of its connection."""

    async def wait_writable(self) -> None:
        """Wait until the peer has taken enough. Raises `ConnectionClosed` if it is gone."""
        ...

    def stream_ended(self) -> None: ...


class Stream:
    """The body of one response, chunk by chunk."""

    __slots__ = ("_callbacks", "_chunked", "_host", "_muted", "_transport", "closed")

    def __init__(self, host: StreamHost, transport: asyncio.Transport, *, chunked: bool, muted: bool) -> None:
        self._host = host
        self._transport = transport
        self._chunked = chunked
        # The answer to HEAD has no body, whatever is written.
        self._muted = muted
        self._callbacks: list[Callable[[], None]] = []
        self.closed = False
        """No more can be written: ended, aborted, or disconnected."""

    @property
    def buffered(self) -> int:
        """Bytes that wait in this process; over TLS up to 64 KiB more may wait in the transport below."""
        return 0 if self.closed else self._transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        """Send one chunk. Ignored once the stream is closed."""
        if self.closed or self._muted or not data:
            return
        if not self._chunked:
            self._transport.write(data)
        elif len(data) < _JOIN_BYTES:
            self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        else:
            self._transport.writelines((b"%x\r\n" % len(data), data, b"\r\n"))

    async def drain(self) -> None:
        """Wait until the peer has taken enough. Raises `ConnectionClosed` if it is gone."""
        await self._host.wait_writable()

    def end(self) -> None:
        """The response is complete."""
        if self.closed:
            return
        if self._chunked and not self._muted:
            self._transport.write(b"0\r\n\r\n")
        try:
            self.lost()
        finally:
            self._host.stream_ended()

    def abort(self) -> None:
        """Drop the connection, so that the peer knows that the response is not complete."""
        if not self.closed:
            self._transport.abort()
            self.lost()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the stream is closed, for whatever reason (at once if it is)."""
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    def lost(self) -> None:
        """Called by the connection when the peer is gone."""
        if self.closed:
            return
        self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
