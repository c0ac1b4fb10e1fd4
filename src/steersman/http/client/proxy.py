"""A connection to a server by way of an HTTP proxy: CONNECT, then TLS through the tunnel.

Used by the pool. The proxy itself may be spoken to in TLS (`https://`).
"""

from __future__ import annotations

import asyncio
import base64
import ssl as tls
from dataclasses import dataclass, field
from typing import Self, TypeVar
from urllib.parse import unquote, urlsplit

from steersman.http.errors import ConnectFailed

__all__ = ["Proxy", "tunnel"]

_HEAD_LIMIT_BYTES = 64 << 10
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where the proxy is and how to introduce oneself to it."""

    host: str
    port: int
    secure: bool = False
    authorization: bytes = field(default=b"", repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """`http://user:password@host:port`. Raises ValueError, which never repeats the password."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("a proxy is given as http://host:port or https://host:port")
        secure = parts.scheme == "https"
        authorization = b""
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = b"Basic " + base64.b64encode(pair.encode())
        return cls(parts.hostname, parts.port or (443 if secure else 80), secure, authorization)


P = TypeVar("P", bound=asyncio.BaseProtocol)


async def tunnel(
    proxy: Proxy, host: str, port: int, protocol: P, ssl: tls.SSLContext | None, server_name: str | None
) -> P:
    """Connect `protocol` to the server behind the proxy. Raises `ConnectFailed` and OSError."""
    loop = asyncio.get_running_loop()
    context = tls.create_default_context() if proxy.secure else None
    transport, asking = await loop.create_connection(_Asking, proxy.host, proxy.port, ssl=context)
    try:
        await asking.connect(transport, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", proxy)
        if ssl is None:
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            return protocol
        inner = await loop.start_tls(transport, protocol, ssl, server_hostname=server_name)
    except BaseException:
        transport.abort()
        raise
    if inner is None:
        raise ConnectFailed(f"the proxy {proxy.host}:{proxy.port} closed the tunnel")
    protocol.connection_made(inner)
    return protocol


class _Asking(asyncio.Protocol):
    """The client's end of the connection until the proxy has opened the tunnel."""

    def __init__(self) -> None:
        self._received = b""
        self._answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def connect(self, transport: asyncio.Transport, where: str, proxy: Proxy) -> None:
        authorization = b""
        if proxy.authorization:
            authorization = b"Proxy-Authorization: %b\r\n" % proxy.authorization
        name = where.encode("idna" if not where.isascii() else "ascii")
        transport.write(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (name, name, authorization))
        head = await self._answered
        code = head.split(b" ", 2)[1:2]
        if code != [b"200"]:
            said = head.split(b"\r\n", 1)[0].decode("latin-1")
            raise ConnectFailed(f"the proxy {proxy.host}:{proxy.port} refused to connect to {where}: {said}")

    def data_received(self, data: bytes) -> None:
        self._received += data
        complete = _END in self._received or len(self._received) > _HEAD_LIMIT_BYTES
        if complete and not self._answered.done():
            self._answered.set_result(self._received)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answered.done():
            self._answered.set_exception(ConnectFailed("the proxy closed the connection"))
            # It may be that nobody waits (yet); the failure is then reported by the connection itself.
            self._answered.exception()
