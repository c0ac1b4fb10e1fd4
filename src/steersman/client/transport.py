"""The seam below the client: what carries its requests.

`steersman.http.Client` satisfies `Transport` as it is; a cluster in the same process has one without
sockets, and the test kit wraps one to inject faults. Failures are `steersman.http` errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypedDict, Unpack

from steersman.http import ClientResponse, Headers, RawHeaders, WebSocket

__all__ = [
    "PassingTransport",
    "RequestOptions",
    "StreamOptions",
    "StreamedAnswer",
    "Transport",
    "WebSocketOptions",
]


class StreamedAnswer(Protocol):
    """An answer whose body is still coming; reading slowly slows the server down."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    def lines(self) -> AsyncIterator[bytes]: ...

    async def read(self) -> bytes: ...


class Transport(Protocol):
    """Requests to one API server. Targets are paths with their query, percent-encoded."""

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> Awaitable[ClientResponse]:
        """Send a request and collect the whole answer."""
        ...

    def stream(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
        read_timeout_s: float | None = None,
    ) -> AbstractAsyncContextManager[StreamedAnswer]:
        """Send a request and take its answer as it comes; leaving the context drops the rest."""
        ...

    def websocket(
        self,
        target: str,
        subprotocols: Sequence[str] = (),
        *,
        headers: RawHeaders = (),
        timeout_s: float | None = None,
    ) -> Awaitable[WebSocket]:
        """Open a WebSocket; a refusal is `UpgradeRefused`."""
        ...

    async def close(self) -> None:
        """Drop whatever is open."""
        ...


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
