"""A connection to a port of a pod as two streams of SPDY: one for the data, which can be closed in each
direction, and one for what went wrong. `forwarding` uses it with servers that can."""

from __future__ import annotations

from steersman.client.errors import ForwardingFailed
from steersman.http import WebSocket
from steersman.http.spdy import SpdyConnection, SpdyError, SpdyStream, WebSocketLink

__all__ = ["PortStreams", "open_streams"]


async def open_streams(socket: WebSocket, port: int) -> PortStreams:
    """Raises `ForwardingFailed`."""
    connection = SpdyConnection(WebSocketLink(socket), server=False)
    connection.start()
    about = {"port": str(port), "requestid": "0"}
    try:
        error = await connection.open({"streamtype": "error", **about})
        error.end()
        data = await connection.open({"streamtype": "data", **about})
    except SpdyError as problem:
        await connection.close()
        raise ForwardingFailed(f"the connection cannot be made: {problem}") from problem
    except BaseException:
        await connection.close()
        raise
    return PortStreams(connection, data, error)


class PortStreams:
    """A connection carried by two streams of SPDY."""

    def __init__(self, connection: SpdyConnection, data: SpdyStream, error: SpdyStream) -> None:
        self._connection = connection
        self._data = data
        self._error = error

    async def read(self) -> bytes:
        try:
            if data := await self._data.read():
                return data
        except SpdyError as error:
            await self._check(error)
            raise ForwardingFailed(f"the connection is broken: {error}") from error
        await self._check(None)
        return b""

    async def _check(self, cause: SpdyError | None) -> None:
        """Raise what the server says about the end of the data."""
        try:
            problem = await self._error.read()
        except SpdyError:
            return
        if problem:
            raise ForwardingFailed(problem.decode(errors="replace")) from cause

    async def write(self, data: bytes) -> None:
        try:
            await self._data.write(data)
        except SpdyError as error:
            raise ForwardingFailed(f"the connection is closed: {error}") from error

    async def write_eof(self) -> None:
        self._data.end()

    async def close(self) -> None:
        await self._connection.close()
