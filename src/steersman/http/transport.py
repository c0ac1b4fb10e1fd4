"""`Transport`: a request in, its response out, whatever carries them.

| transport                           | carries requests                                                     |
|-------------------------------------|----------------------------------------------------------------------|
| `http.Client`                       | over connections to any server: nodes, pods, webhooks, backends      |
| `cluster.in_process.InProcess`      | to the API server of this process, without sockets                   |
| `client.transport.PassingTransport` | to another transport; the transports in `testing` are made from it   |

Failures are `steersman.http` errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from steersman.http.headers import Headers, RawHeaders
from steersman.http.upgraded import Upgraded
from steersman.http.websocket import WebSocket

if TYPE_CHECKING:
    from steersman.http.client import ClientResponse

__all__ = ["StreamedAnswer", "Transport", "UpgradableTransport"]


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
    """Requests to one server. Targets are paths with their query, percent-encoded."""

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


class UpgradableTransport(Transport, Protocol):
    """A transport over connections, which can be taken over for another protocol."""

    def upgrade(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders,
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> Awaitable[tuple[Headers, Upgraded]]:
        """Ask for another protocol (`headers` name it). Raises `UpgradeRefused` if there is no 101."""
        ...
