"""The server: listening sockets, the connections accepted on them, and how they come to an end.

start ──► serving ──► drain ──► close
             └───────────────────▲
drain: no new connections; requests in flight are finished with `Connection: close`; then open
streams are ended properly and upgraded connections closed. close: whatever is left is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl as tls
from collections.abc import Callable, Sequence

from steersman.aio import Scope
from steersman.http.connection import Handler, OnError, ServerConnection
from steersman.http.errors import RequestRefused
from steersman.http.limits import Limits
from steersman.http.outbox import Outbox
from steersman.http.receiving import new_buffer
from steersman.http.request import Request
from steersman.http.response import Response, plain_text
from steersman.http.sweep import Sweeper
from steersman.http.upgraded import Upgraded

__all__ = ["Server", "is_served_here"]

_log = logging.getLogger(__name__)


#: Where the servers of this process listen.
_listening: set[tuple[str, int]] = set()


def is_served_here(host: str, port: int) -> bool:
    """Whether a server of this process listens there: it answers as long as the process does anything."""
    return (host, port) in _listening


class Server:
    """HTTP/1.1 for one handler, on any number of addresses."""

    sweeper: Sweeper

    def __init__(
        self,
        handler: Handler,
        *,
        limits: Limits | None = None,
        streams_body: Callable[[Request], bool] | None = None,
        on_error: OnError | None = None,
    ) -> None:
        """`streams_body` picks the requests whose handler is called before the body is there.

        `on_error` turns what a handler raised, or a `RequestRefused` of the server itself, into the
        answer; without it, or when it returns None, errors are answered in plain text.
        """
        self.handler = handler
        self.limits = limits or Limits()
        self.streams_body = streams_body
        self._on_error = on_error
        self.scope = Scope(on_error=self._report)
        self.connections: set[ServerConnection] = set()
        self.upgraded: set[Upgraded] = set()
        self.outbox = Outbox()
        self.buffer = new_buffer()
        self.draining = False
        self._change = asyncio.Event()
        self._listeners: list[asyncio.Server] = []
        self._places: set[tuple[str, int]] = set()
        self.port = 0
        """The port of the first address listened on."""

    @property
    def sockets(self) -> Sequence[socket.socket]:
        return [sock for listener in self._listeners for sock in listener.sockets]

    async def start(self, host: str, port: int, ssl: tls.SSLContext | None = None) -> None:
        """Listen; port 0 takes a free one. May be called again for further addresses."""
        limits = self.limits
        if not self._listeners:
            shortest = min(
                limits.header_timeout_s,
                limits.idle_timeout_s,
                limits.body_timeout_s,
                limits.write_timeout_s,
                limits.linger_s,
            )
            self.sweeper = Sweeper(min(1.0, max(shortest / 4, 0.01)))
        try:
            listener = await asyncio.get_running_loop().create_server(
                lambda: ServerConnection(self),
                host,
                port,
                ssl=ssl,
                backlog=1024,
                ssl_handshake_timeout=None if ssl is None else limits.handshake_timeout_s,
                ssl_shutdown_timeout=None if ssl is None else limits.linger_s,
            )
        except BaseException:
            if not self._listeners:
                self.sweeper.stop()
            raise
        self._listeners.append(listener)
        taken = listener.sockets[0].getsockname()[1]
        self.port = self.port or taken
        self._places.add((host, taken))
        _listening.add((host, taken))

    def _stop_listening(self) -> None:
        self.draining = True
        for listener in self._listeners:
            listener.close()
        _listening.difference_update(self._places)

    async def drain(self, timeout_s: float) -> None:
        """End gracefully; what is not done after `timeout_s` is left to `close`."""
        self._stop_listening()
        for connection in list(self.connections):
            connection.begin_drain()
        try:
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: not any(connection.busy for connection in self.connections))
                for connection in list(self.connections):
                    connection.end_stream()
                    connection.begin_drain()
                for upgraded in list(self.upgraded):
                    upgraded.close()
                await self._until(lambda: not self.connections and not self.upgraded)
        except TimeoutError:
            _log.warning("%d connections were not done in time", len(self.connections) + len(self.upgraded))

    async def close(self) -> None:
        """Stop listening, cut all connections, and wait for their handlers to end."""
        self._stop_listening()
        for connection in list(self.connections):
            connection.abort()
        for upgraded in list(self.upgraded):
            upgraded.abort()
        await self.scope.close()
        await self._until(lambda: not self.connections and not self.upgraded)
        if self._listeners:
            self.sweeper.stop()

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self._change.clear()
            await self._change.wait()

    # for connections

    def changed(self) -> None:
        self._change.set()

    def adopt(self, upgraded: Upgraded) -> None:
        """Keep track of a connection that has left HTTP, to close it in the end."""
        self.upgraded.add(upgraded)

        def gone() -> None:
            self.upgraded.discard(upgraded)
            self.changed()

        upgraded.on_close(gone)

    def answer_for(self, request: Request | None, error: Exception) -> Response:
        """The response to an error."""
        if self._on_error is not None:
            try:
                response = self._on_error(request, error)
            except Exception:  # noqa: BLE001 - an error here must not hide the first one
                _log.exception("the error handler failed")
                response = None
            if response is not None:
                return response
        if isinstance(error, RequestRefused):
            return plain_text(error.status, error.message, error.headers)
        _log.error("the handler of %r failed", request, exc_info=error)
        return plain_text(500, "Internal Server Error")

    def _report(self, error: BaseException) -> None:
        _log.error("a connection's task failed", exc_info=error)
