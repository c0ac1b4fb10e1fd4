"""Transports of the client that wrap another one; the interface itself is `steersman.http.transport`."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypedDict, Unpack

from steersman.http import ClientResponse, RawHeaders, WebSocket
from steersman.http.transport import StreamedAnswer, Transport

__all__ = [
    "PassingTransport",
    "RequestOptions",
    "StreamOptions",
    "StreamedAnswer",
    "Transport",
    "WebSocketOptions",
]


class RequestOptions(TypedDict, total=False):
    """What `Transport.request` takes by keyword."""

    headers: RawHeaders
    content: bytes
    timeout_s: float | None


class StreamOptions(RequestOptions, total=False):
    """What `Transport.stream` takes by keyword."""

    read_timeout_s: float | None


class WebSocketOptions(TypedDict, total=False):
    """What `Transport.websocket` takes by keyword."""

    headers: RawHeaders
    timeout_s: float | None


class PassingTransport:
    """A transport that passes every request on to another: a base for those that change a part of it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def request(
        self, method: str, target: str, **options: Unpack[RequestOptions]
    ) -> Awaitable[ClientResponse]:
        return self._current().request(method, target, **options)

    def stream(
        self, method: str, target: str, **options: Unpack[StreamOptions]
    ) -> AbstractAsyncContextManager[StreamedAnswer]:
        return self._current().stream(method, target, **options)

    def websocket(
        self, target: str, subprotocols: Sequence[str] = (), **options: Unpack[WebSocketOptions]
    ) -> Awaitable[WebSocket]:
        return self._current().websocket(target, subprotocols, **options)

    async def close(self) -> None:
        await self._transport.close()

    def _current(self) -> Transport:
        """The transport that the next request is passed on to."""
        return self._transport
