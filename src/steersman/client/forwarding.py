"""A port of a pod, reached through the API server over a WebSocket: one for each connection to the port.

Servers of today carry SPDY in the WebSocket's messages (see `spdy_forwarding`). Older ones know channels:
every message begins with its channel, 0 for data and 1 for an error, and the first message of each is the
port's number.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Protocol, Self

from steersman.aio import Scope
from steersman.client.errors import ClientError, ForwardingFailed
from steersman.http import WebSocket
from steersman.http.errors import WebSocketClosed

__all__ = ["PROTOCOLS", "Tunnel", "listen", "open_tunnel"]

_SPDY: Final = "SPDY/3.1+portforward.k8s.io"
PROTOCOLS: Final = (_SPDY, "v4.channel.k8s.io")

_DATA, _ERROR = 0, 1
_PORT_BYTES: Final = 2
_PART_BYTES: Final = 32 << 10


class _Carrier(Protocol):
    async def read(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...

    async def write_eof(self) -> None: ...

    async def close(self) -> None: ...


class Tunnel:
    """A connection to a port of a pod."""

    def __init__(self, carrier: _Carrier) -> None:
        self._carrier = carrier

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._carrier.close()

    async def read(self) -> bytes:
        """What came next, at least one byte; b"" when the other side has closed.

        Raises `ForwardingFailed`, for example if nothing listens on the port.
        """
        return await self._carrier.read()

    async def write(self, data: bytes) -> None:
        """Send; waits while the other side does not take it."""
        await self._carrier.write(data)

    async def write_eof(self) -> None:
        """Tell the other side that nothing more comes. Older servers cannot: then nothing happens."""
        await self._carrier.write_eof()


async def open_tunnel(socket: WebSocket, port: int) -> Tunnel:
    """Begin to speak with a port. Raises `ForwardingFailed`."""
    if socket.subprotocol != _SPDY:
        return Tunnel(_Channels(socket))
    # With the first tunnel: most clients never need it.
    from steersman.client.spdy_forwarding import open_streams

    return Tunnel(await open_streams(socket, port))


class _Channels:
    """A connection carried by the channels of a WebSocket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        # The bytes of the port's number that are still to come, by channel.
        self._expected = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}

    async def read(self) -> bytes:
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
        try:
            for start in range(0, len(data), _PART_BYTES):
                await self._socket.send(bytes([_DATA]) + data[start : start + _PART_BYTES])
        except WebSocketClosed as error:
            raise ForwardingFailed(f"the connection is closed: {error}") from error

    async def write_eof(self) -> None:
        """There is no half-closing in this protocol: when the client is through, the answer still comes."""

    async def close(self) -> None:
        await self._socket.close()


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
    while data := await reader.read(_PART_BYTES):
        await tunnel.write(data)
    await tunnel.write_eof()
