"""A connection that has left HTTP: bytes in, bytes out, with back-pressure both ways.

It is the transport's protocol from the moment of the 101 on, at the server as at the client. Whoever
asked for the upgrade owns it and closes it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from steersman.http.body import HIGH_WATER_BYTES
from steersman.http.errors import ConnectionClosed
from steersman.http.receiving import Receiver

__all__ = ["Upgraded"]


class Upgraded(Receiver):
    """The raw connection."""

    __slots__ = (
        "_callbacks",
        "_can_write",
        "_chunks",
        "_drainers",
        "_ended",
        "_lost",
        "_paused",
        "_reader",
        "_size",
        "_transport",
    )

    def __init__(self, transport: asyncio.Transport, buffer: memoryview, received: bytes = b"") -> None:
        super().__init__(buffer)
        self._transport = transport
        self._chunks: deque[bytes] = deque((received,) if received else ())
        self._size = len(received)
        self._paused = False
        self._ended = False
        self._lost = False
        self._can_write = True
        self._reader: asyncio.Future[None] | None = None
        self._drainers: list[asyncio.Future[None]] = []
        self._callbacks: list[Callable[[], None]] = []
        transport.set_protocol(self)
        # HTTP may have stopped reading while it was undecided about the upgrade.
        transport.resume_reading()

    @property
    def closed(self) -> bool:
        return self._lost or self._transport.is_closing()

    @property
    def buffered(self) -> int:
        """Bytes written that the kernel has not taken yet."""
        return 0 if self._lost else self._transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        """Send without waiting; `drain` tells when to go on. Ignored once the connection is gone."""
        if not self.closed:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the peer has taken enough. Raises `ConnectionClosed` if it is gone."""
        while not self._can_write or self._lost:
            if self._lost:
                raise ConnectionClosed("the connection is closed")
            waiter = asyncio.get_running_loop().create_future()
            self._drainers.append(waiter)
            await waiter

    async def read(self) -> bytes:
        """Whatever has arrived, at least one byte; b"" when the peer has finished."""
        while not self._chunks:
            if self._ended or self._lost:
                return b""
            if self._reader is not None:
                raise RuntimeError("the connection is already being read by another task")
            self._reader = reader = asyncio.get_running_loop().create_future()
            try:
                await reader
            finally:
                self._reader = None
        data = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        if self._paused and not self.closed:
            self._paused = False
            self._transport.resume_reading()
        return data

    def write_eof(self) -> None:
        """Tell the peer that nothing more comes, where the transport can (not over TLS)."""
        if not self.closed and self._transport.can_write_eof():
            self._transport.write_eof()

    def close(self) -> None:
        """Send what was written, then close."""
        if not self._lost:
            self._transport.close()

    def abort(self) -> None:
        if not self._lost:
            self._transport.abort()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the connection is gone (at once if it is)."""
        if self._lost:
            callback()
        else:
            self._callbacks.append(callback)

    # called by the transport

    def received(self, data: memoryview) -> None:
        self._chunks.append(bytes(data))
        self._size += len(data)
        if self._size > HIGH_WATER_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake_reader()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake_reader()
        # A TLS transport closes itself at EOF and would warn if told to stay.
        return self._transport.can_write_eof()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self._wake_reader()
        self._wake_drainers()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def pause_writing(self) -> None:
        self._can_write = False

    def resume_writing(self) -> None:
        self._can_write = True
        self._wake_drainers()

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _wake_drainers(self) -> None:
        drainers, self._drainers = self._drainers, []
        for waiter in drainers:
            if not waiter.done():
                waiter.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
