"""The client as callers see it: requests, streams, upgrades and WebSockets to one server.

A request is sent again, once, only where that cannot do harm: on a kept connection that turned out
to be closed before a byte of the answer came, if the method is idempotent.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlsplit

from steersman.http.client.connection import Answer, ClientConnection, Mode
from steersman.http.client.pool import Pool
from steersman.http.client.proxy import Proxy
from steersman.http.client.response import ClientResponse, StreamingResponse
from steersman.http.errors import Disconnected, ProtocolError, TimedOut, UpgradeRefused
from steersman.http.headers import Headers, RawHeaders
from steersman.http.response import encode_fields
from steersman.http.upgraded import Upgraded
from steersman.http.websocket.handshake import check_answer, client_headers, new_key
from steersman.http.websocket.socket import WebSocket

__all__ = ["Client", "Timeouts"]

_IDEMPOTENT = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))
_ALWAYS_WITH_LENGTH = frozenset(("POST", "PUT", "PATCH"))


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for what."""

    connect_s: float = 10.0
    total_s: float = 60.0
    """A whole request with its answer; of a stream or upgrade, only until the answer's header."""
    read_s: float | None = None
    """Silence in the middle of a streamed answer; None waits for ever, as watches do."""
    idle_s: float = 90.0
    """How long a connection is kept for the next request; less than servers keep theirs."""


class Client:
    """Speaks to the server at `base_url`, keeping connections open between requests."""

    def __init__(
        self,
        base_url: str,
        *,
        ssl: tls.SSLContext | None = None,
        headers: RawHeaders = (),
        pool_size: int = 32,
        timeouts: Timeouts | None = None,
        max_response_bytes: int = 1 << 30,
        proxy: Proxy | None = None,
    ) -> None:
        """`headers` go with every request; `max_response_bytes` bounds what is collected in memory.

        With a `proxy` every connection is a tunnel through it.
        """
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"{base_url!r} is not an http(s) URL")
        if url.scheme == "https" and ssl is None:
            ssl = tls.create_default_context()
        self._timeouts = timeouts or Timeouts()
        self._prefix = url.path.rstrip("/")
        default_port = 443 if url.scheme == "https" else 80
        host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        if url.port is not None and url.port != default_port:
            host = f"{host}:{url.port}"
        self._headers = [(b"Host", host.encode("idna" if not host.isascii() else "ascii")), *headers]
        if not any(name.lower() == b"accept-encoding" for name, _ in headers):
            self._headers.append((b"Accept-Encoding", b"gzip"))
        # A caller's header fields are the same few tuples again and again.
        self._fields_of = lru_cache(maxsize=64)(self._fields)
        self._pool = Pool(
            url.hostname,
            url.port or default_port,
            ssl if url.scheme == "https" else None,
            size=pool_size,
            connect_timeout_s=self._timeouts.connect_s,
            idle_timeout_s=self._timeouts.idle_s,
            max_bytes=max_response_bytes,
            proxy=proxy,
        )

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        """Send a request and collect the whole answer."""
        data = self._encode(method, target, headers, content)
        limit_s = self._timeouts.total_s if timeout_s is None else timeout_s
        deadline = asyncio.get_running_loop().time() + limit_s
        pool = self._pool
        for fresh in (False, True):
            connection = None if fresh else pool.take_idle()
            if connection is None:
                connection = await _within(deadline, limit_s, pool.take(fresh=fresh))
            try:
                answer = await _answer(connection, method, data, Mode.WHOLE, deadline, limit_s)
                return cast(ClientResponse, answer)
            except Disconnected:
                if not _may_repeat(method, connection):
                    raise
            finally:
                pool.give_back(connection)
        raise AssertionError("a fresh connection is not repeated")

    def stream(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
        read_timeout_s: float | None = None,
    ) -> _StreamContext:
        """`async with client.stream(…) as response:` the answer as it comes; leaving drops the rest."""
        data = self._encode(method, target, headers, content)
        limit_s = self._timeouts.total_s if timeout_s is None else timeout_s
        read_s = self._timeouts.read_s if read_timeout_s is None else read_timeout_s
        return _StreamContext(self, method, data, limit_s, read_s)

    async def upgrade(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders,
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> tuple[Headers, Upgraded]:
        """Ask for another protocol (`headers` name it). Raises `UpgradeRefused` if there is no 101."""
        data = self._encode(method, target, headers, content)
        limit_s = self._timeouts.total_s if timeout_s is None else timeout_s
        connection, answer = await self._open(method, data, Mode.UPGRADE, limit_s)
        if isinstance(answer, tuple):
            return answer
        self._pool.put_in(connection)
        refusal = cast(ClientResponse, answer)
        raise UpgradeRefused(refusal.status, refusal.content)

    async def websocket(
        self,
        target: str,
        subprotocols: Sequence[str] = (),
        *,
        headers: RawHeaders = (),
        timeout_s: float | None = None,
        max_message_bytes: int = 1 << 20,
    ) -> WebSocket:
        """Open a WebSocket. Raises `UpgradeRefused` or `ProtocolError`."""
        key = new_key()
        asked = (*headers, *client_headers(key, subprotocols))
        answer, upgraded = await self.upgrade("GET", target, headers=asked, timeout_s=timeout_s)
        try:
            chosen = check_answer(key, answer, subprotocols)
        except ProtocolError:
            upgraded.abort()
            raise
        return WebSocket(upgraded, masks=True, subprotocol=chosen, max_message_bytes=max_message_bytes)

    def use_tls(self, ssl: tls.SSLContext) -> None:
        """Speak with other certificates from now on; what is open ends with its request or stream."""
        self._pool.use_tls(ssl)

    async def close(self) -> None:
        """Drop all connections but upgraded ones, which belong to whoever asked for them."""
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _encode(self, method: str, target: str, headers: RawHeaders, content: bytes) -> bytes:
        target = self._prefix + target
        if not target.isascii() or not target.isprintable() or " " in target or not method.isalpha():
            raise ValueError(f"{method!r} {target!r} is not a valid request line; percent-encode the target")
        fields = self._fields_of(tuple(headers))
        framing = b""
        if content or method in _ALWAYS_WITH_LENGTH:
            framing = b"Content-Length: %d\r\n" % len(content)
        return b"%b %b HTTP/1.1\r\n%b%b\r\n%b" % (
            method.encode("ascii"),
            target.encode("ascii"),
            fields,
            framing,
            content,
        )

    def _fields(self, headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
        """A request's own lines and those that go with every request, less what it has of its own."""
        names = {name.lower() for name, _ in headers}
        common = [field for field in self._headers if field[0].lower() not in names]
        return encode_fields([*common, *headers])

    async def _open(
        self, method: str, data: bytes, mode: Mode, limit_s: float, read_s: float | None = None
    ) -> tuple[ClientConnection, Answer]:
        """Send a request on a connection outside the pool, which is the caller's afterwards."""
        deadline = asyncio.get_running_loop().time() + limit_s
        for fresh in (False, True):
            connection = await _within(deadline, limit_s, self._pool.take_out(fresh=fresh))
            try:
                return connection, await _answer(connection, method, data, mode, deadline, limit_s, read_s)
            except Disconnected:
                if not _may_repeat(method, connection):
                    raise
        raise AssertionError("a fresh connection is not repeated")


class _StreamContext:
    """The life of one streamed answer."""

    __slots__ = ("_client", "_connection", "_data", "_limit_s", "_method", "_read_s")

    def __init__(
        self, client: Client, method: str, data: bytes, limit_s: float, read_s: float | None
    ) -> None:
        self._client = client
        self._method = method
        self._data = data
        self._limit_s = limit_s
        self._read_s = read_s
        self._connection: ClientConnection | None = None

    async def __aenter__(self) -> StreamingResponse:
        self._connection, answer = await self._client._open(
            self._method, self._data, Mode.STREAM, self._limit_s, self._read_s
        )
        return cast(StreamingResponse, answer)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._client._pool.put_in(connection)


def _may_repeat(method: str, connection: ClientConnection) -> bool:
    kept = connection.idle_since > 0
    return kept and method in _IDEMPOTENT and not connection.answered


async def _answer(
    connection: ClientConnection,
    method: str,
    data: bytes,
    mode: Mode,
    deadline: float,
    limit_s: float,
    read_s: float | None = None,
) -> Answer:
    """Send and wait. Whatever goes wrong, the connection is not used again."""
    try:
        return await connection.send(
            method, data, mode, deadline=deadline, limit_s=limit_s, read_timeout_s=read_s
        )
    except BaseException:
        connection.abort()
        raise


async def _within(
    deadline: float, limit_s: float, taking: Coroutine[None, None, ClientConnection]
) -> ClientConnection:
    try:
        async with asyncio.timeout_at(deadline):
            return await taking
    except TimeoutError as error:
        raise TimedOut(f"no connection within {limit_s} s") from error
