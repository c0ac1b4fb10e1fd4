"""The way from a client to the cluster: to the server that is running now, with a record of what is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Unpack

from steersman.client.transport import (
    RequestOptions,
    StreamedAnswer,
    StreamOptions,
    Transport,
    WebSocketOptions,
)
from steersman.cluster.local import LocalCluster
from steersman.http import ClientResponse, WebSocket
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

    async def request(self, method: str, target: str, **options: Unpack[RequestOptions]) -> ClientResponse:
        transport = self._connect()
        self._record(ApiRequest.sent(method, target, options))
        return await transport.request(method, target, **options)

    @asynccontextmanager
    async def stream(
        self, method: str, target: str, **options: Unpack[StreamOptions]
    ) -> AsyncIterator[StreamedAnswer]:
        transport = self._connect()
        self._record(ApiRequest.sent(method, target, options))
        async with transport.stream(method, target, **options) as answer:
            yield answer

    async def websocket(
        self, target: str, subprotocols: Sequence[str] = (), **options: Unpack[WebSocketOptions]
    ) -> WebSocket:
        return await self._connect().websocket(target, subprotocols, **options)

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
