"""A port of a pod, reached through the API server over WebSockets.

One WebSocket is one connection to the port. Its messages begin with their channel: 0 is data, 1 an error;
the first message of each is the port's number.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from steersman.aio import Scope
from steersman.client.errors import ClientError, ForwardingFailed
from steersman.http import WebSocket
from steersman.http.errors import WebSocketClosed

__all__ = ["PROTOCOLS", "Tunnel", "listen"]

PROTOCOLS = ("v4.channel.k8s.io",)

_DATA, _ERROR = 0, 1
_PORT_BYTES = 2
_PART_BYTES = 32 << 10


class Tunnel:
    """A connection to a port of a pod."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        # The bytes of the port's number that are still to come, by channel.
        self._expected = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._socket.close()

    async def read(self) -> bytes:
        """What came next, at least one byte; b"" when the other side has closed.

        Raises `ForwardingFailed`, for example if nothing listens on the port.
        """
        while True:
            try:
                message = await self._socket.receive()
            except WebSocketClosed:
                return b""
            if not isinstance(message, bytes) or not message:
                continue
            channel, data = message[0], message[1:]
            skipped = min(self._expected.get(channel, 0), len(data))
            if skipped:
                self._expected[channel] -= skipped
                data = data[skipped:]
            if not data:
                continue
            if channel == _DATA:
                return data
            raise ForwardingFailed(data.decode(errors="replace"))

    async def write(self, data: bytes) -> None:
        """Send; waits while the other side does not take it."""
        try:
            for start in range(0, len(data), _PART_BYTES):
                await self._socket.send(bytes([_DATA]) + data[start : start + _PART_BYTES])
        except WebSocketClosed as error:
            raise ForwardingFailed(f"the connection is closed: {error}") from error


@asynccontextmanager
async def listen(
    open_tunnel: Callable[[], Awaitable[Tunnel]],
    host: str,
    port: int,
    on_error: Callable[[ClientError], None],
) -> AsyncIterator[int]:
    """Serve a local port, each connection through a tunnel of its own; gives the port's number."""

    def report(error: BaseException) -> None:
        if isinstance(error, ClientError):
            on_error(error)
        elif not isinstance(error, OSError):
            raise error

    async with Scope(on_error=report) as scope:

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            scope.start(_carry(open_tunnel, reader, writer), name="forwarded connection")

        server = await asyncio.start_server(accept, host, port)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()


async def _carry(
    open_tunnel: Callable[[], Awaitable[Tunnel]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        async with await open_tunnel() as tunnel, Scope() as scope:
            scope.start(_send(reader, tunnel), name="forwarded input")
            while data := await tunnel.read():
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()


async def _send(reader: asyncio.StreamReader, tunnel: Tunnel) -> None:
    # There is no half-closing in this protocol: when the client is through, the answer still comes.
    while data := await reader.read(_PART_BYTES):
        await tunnel.write(data)
