"""The seam below the client: what carries its requests.

`steersman.http.Client` satisfies `Transport` as it is; a cluster in the same process has one without
sockets, and the test kit wraps one to inject faults. Failures are `steersman.http` errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from steersman.http import ClientResponse, Headers, RawHeaders, WebSocket

__all__ = ["PassingTransport", "StreamedAnswer", "Transport"]


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


class PassingTransport:
    """One that leaves everything to another: a base for those that change a part of it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> Awaitable[ClientResponse]:
        return self._transport.request(method, target, headers=headers, content=content, timeout_s=timeout_s)

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
        return self._transport.stream(
            method,
            target,
            headers=headers,
            content=content,
            timeout_s=timeout_s,
            read_timeout_s=read_timeout_s,
        )

    def websocket(
        self,
        target: str,
        subprotocols: Sequence[str] = (),
        *,
        headers: RawHeaders = (),
        timeout_s: float | None = None,
    ) -> Awaitable[WebSocket]:
        return self._transport.websocket(target, subprotocols, headers=headers, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._transport.close()
