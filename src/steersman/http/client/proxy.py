"""A connection to a server by way of a proxy: the tunnel is opened (HTTP CONNECT or SOCKS 5), then TLS goes
through it.

Used by the pool. An HTTP proxy itself may be spoken to in TLS (`https://`).
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import ssl as tls
from dataclasses import dataclass, field
from typing import Final, Self, TypeVar
from urllib.parse import unquote, urlsplit

from steersman.http.errors import ConnectFailed

__all__ = ["Proxy", "tunnel"]

_HEAD_LIMIT_BYTES: Final = 64 << 10
_END: Final = b"\r\n\r\n"
#: By scheme.
_PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}

_SOCKS: Final = 5
_NO_PASSWORD: Final = 0
_PASSWORD: Final = 2
_OPEN: Final = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
#: What a SOCKS proxy says by number (RFC 1928).
_SOCKS_REFUSALS: Final = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "time to live expired",
    7: "command not supported",
    8: "address type not supported",
}


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where the proxy is and how to introduce oneself to it."""

    host: str
    port: int
    scheme: str = "http"
    user: str | None = None
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """`http://user:password@host:port`. Raises ValueError, which never repeats the password."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError("a proxy is given as http://host:port, https://host:port or socks5://host:port")
        user = None if parts.username is None else unquote(parts.username)
        password = unquote(parts.password or "")
        port = parts.port or _PORTS[parts.scheme]
        if parts.scheme.startswith("socks5") and not all(
            len(one.encode()) < 256 for one in (user or "", password)
        ):
            raise ValueError("a SOCKS proxy takes names and passwords of at most 255 bytes")
        return cls(parts.hostname, port, parts.scheme, user, password)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


P = TypeVar("P", bound=asyncio.BaseProtocol)


async def tunnel(
    proxy: Proxy, host: str, port: int, protocol: P, ssl: tls.SSLContext | None, server_name: str | None
) -> P:
    """Connect `protocol` to the server behind the proxy. Raises `ConnectFailed` and OSError."""
    loop = asyncio.get_running_loop()
    context = tls.create_default_context() if proxy.scheme == "https" else None
    transport, answers = await loop.create_connection(_Answers, proxy.host, proxy.port, ssl=context)
    try:
        ask = _ask_socks if proxy.scheme.startswith("socks5") else _ask_http
        await ask(proxy, transport, answers, host, port)
        if ssl is None:
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            return protocol
        inner = await loop.start_tls(transport, protocol, ssl, server_hostname=server_name)
    except BaseException:
        transport.abort()
        raise
    if inner is None:
        raise ConnectFailed(f"the proxy {proxy} closed the tunnel")
    protocol.connection_made(inner)
    return protocol


async def _ask_http(
    proxy: Proxy, transport: asyncio.Transport, answers: _Answers, host: str, port: int
) -> None:
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    authorization = b""
    if proxy.user is not None:
        pair = base64.b64encode(f"{proxy.user}:{proxy.password}".encode())
        authorization = b"Proxy-Authorization: Basic %b\r\n" % pair
    name = where.encode("idna" if not where.isascii() else "ascii")
    transport.write(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (name, name, authorization))
    head = await answers.until(_END)
    if head.split(b" ", 2)[1:2] != [b"200"]:
        said = head.split(b"\r\n", 1)[0].decode("latin-1")
        raise ConnectFailed(f"the proxy {proxy} refused to connect to {where}: {said}")


async def _ask_socks(
    proxy: Proxy, transport: asyncio.Transport, answers: _Answers, host: str, port: int
) -> None:
    """Names are resolved by the proxy: they may mean nothing here."""
    offered = [_NO_PASSWORD] if proxy.user is None else [_NO_PASSWORD, _PASSWORD]
    transport.write(bytes((_SOCKS, len(offered), *offered)))
    version, method = await answers.take(2)
    if version != _SOCKS:
        raise ConnectFailed(f"the proxy {proxy} does not speak SOCKS 5")
    if method not in offered:
        raise ConnectFailed(f"the proxy {proxy} wants another way of authentication")
    if method == _PASSWORD:
        user, password = (proxy.user or "").encode(), proxy.password.encode()
        transport.write(bytes((1, len(user))) + user + bytes((len(password),)) + password)
        if (await answers.take(2))[1] != 0:
            raise ConnectFailed(f"the proxy {proxy} did not accept the user and password")
    transport.write(bytes((_SOCKS, _OPEN, 0)) + _socks_address(host) + port.to_bytes(2, "big"))
    _, said, _, kind, first = await answers.take(5)
    if said:
        why = _SOCKS_REFUSALS.get(said, f"code {said}")
        raise ConnectFailed(f"the proxy {proxy} refused to connect to {host}:{port}: {why}")
    # The address it connected from, of which one byte is read, and the port.
    await answers.take({_IPV4: 3, _IPV6: 15}.get(kind, first) + 2)


def _socks_address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("idna" if not host.isascii() else "ascii")
        return bytes((_NAME, len(name))) + name
    return bytes((_IPV4 if address.version == 4 else _IPV6,)) + address.packed


class _Answers(asyncio.Protocol):
    """What the proxy says until the tunnel is open."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._changed = asyncio.Event()
        self._ended = False

    async def take(self, count: int) -> bytes:
        while len(self._received) < count:
            await self._more()
        return self._cut(count)

    async def until(self, end: bytes) -> bytes:
        while (found := self._received.find(end)) < 0:
            if len(self._received) > _HEAD_LIMIT_BYTES:
                raise ConnectFailed("the proxy's answer is too long")
            await self._more()
        return self._cut(found + len(end))

    def _cut(self, count: int) -> bytes:
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    async def _more(self) -> None:
        if self._ended:
            raise ConnectFailed("the proxy closed the connection")
        self._changed.clear()
        await self._changed.wait()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._changed.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended = True
        self._changed.set()
