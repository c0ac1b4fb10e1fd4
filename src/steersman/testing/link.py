"""The way from a client to the cluster: to the server that is running now, with a record of what is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from steersman.client.transport import StreamedAnswer, Transport
from steersman.cluster.local import LocalCluster
from steersman.http import ClientResponse, RawHeaders, WebSocket
from steersman.http.errors import ConnectFailed
from steersman.testing.requests import ApiRequest

__all__ = ["Link"]

Record = Callable[[ApiRequest], None]


class Link:
    """A transport that outlives its server: while there is none, connections fail, then there is another."""

    def __init__(self, server: Callable[[], LocalCluster | None], record: Record, user_agent: str) -> None:
        self._server = server
        self._record = record
        self._user_agent = user_agent
        self._connected_to: LocalCluster | None = None
        self._transport: Transport | None = None

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        transport = self._connect()
        self._record(ApiRequest.of(method, target, headers, content))
        return await transport.request(method, target, headers=headers, content=content, timeout_s=timeout_s)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
        read_timeout_s: float | None = None,
    ) -> AsyncIterator[StreamedAnswer]:
        transport = self._connect()
        self._record(ApiRequest.of(method, target, headers, content))
        async with transport.stream(
            method,
            target,
            headers=headers,
            content=content,
            timeout_s=timeout_s,
            read_timeout_s=read_timeout_s,
        ) as answer:
            yield answer

    async def websocket(
        self,
        target: str,
        subprotocols: Sequence[str] = (),
        *,
        headers: RawHeaders = (),
        timeout_s: float | None = None,
    ) -> WebSocket:
        return await self._connect().websocket(target, subprotocols, headers=headers, timeout_s=timeout_s)

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()

    def _connect(self) -> Transport:
        server = self._server()
        if server is None:
            raise ConnectFailed("the cluster is not running")
        if server is not self._connected_to or self._transport is None:
            self._transport = server.transport(self._user_agent)
            self._connected_to = server
        return self._transport
