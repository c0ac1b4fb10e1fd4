"""Which connection carries the next request: an idle one, a new one, or the first to become free.

At most `size` connections carry plain requests. Streams and upgrades may last for hours and leave the
pool while they do, so that watches never starve requests.
"""

from __future__ import annotations

import asyncio
import os
import ssl as tls
from collections import deque

from steersman.http.client.connection import ClientConnection
from steersman.http.client.proxy import Proxy, tunnel
from steersman.http.errors import ClientClosed, ConnectFailed, TimedOut
from steersman.http.receiving import new_buffer
from steersman.http.tls import ClientContext

__all__ = ["Pool"]


class Pool:
    """The connections to one address."""

    __slots__ = (
        "_all",
        "_buffer",
        "_closed",
        "_connect_timeout_s",
        "_count",
        "_emptied",
        "_host",
        "_idle",
        "_idle_timeout_s",
        "_max_bytes",
        "_port",
        "_proxy",
        "_size",
        "_ssl",
        "_waiters",
    )

    def __init__(
        self,
        host: str,
        port: int,
        ssl: tls.SSLContext | None,
        *,
        size: int,
        connect_timeout_s: float,
        idle_timeout_s: float,
        max_bytes: int,
        proxy: Proxy | None = None,
    ) -> None:
        self._proxy = proxy
        self._host = host
        self._port = port
        self._ssl = ssl
        self._size = size
        self._connect_timeout_s = connect_timeout_s
        self._idle_timeout_s = idle_timeout_s
        self._max_bytes = max_bytes
        self._buffer = new_buffer()
        self._idle: list[ClientConnection] = []
        # Connections that count against the size: idle, carrying a request, or being made.
        self._count = 0
        self._all: set[ClientConnection] = set()
        self._waiters: deque[asyncio.Future[ClientConnection | None]] = deque()
        self._closed = False
        self._emptied: asyncio.Future[None] | None = None

    def take_idle(self) -> ClientConnection | None:
        """The idle connection that was used last, which is the least likely to be stale."""
        if self._idle:
            oldest_ok = asyncio.get_running_loop().time() - self._idle_timeout_s
            while self._idle:
                connection = self._idle.pop()
                if connection.usable and connection.idle_since >= oldest_ok:
                    return connection
                connection.close()
                self._count -= 1
        return None

    async def take(self, *, fresh: bool = False) -> ClientConnection:
        """A connection for one request; give it back with `give_back`."""
        while True:
            if self._closed:
                raise ClientClosed("the client is closed")
            connection = None if fresh else self.take_idle()
            if connection is not None:
                return connection
            if self._count < self._size:
                self._count += 1
                try:
                    return await self._connect()
                except BaseException:
                    self._count -= 1
                    self._wake()
                    raise
            if fresh and self._idle:
                self._idle.pop(0).close()
                self._count -= 1
                continue
            connection = await self._wait()
            if connection is not None:
                return connection

    def give_back(self, connection: ClientConnection) -> None:
        """The request is done, or has failed."""
        if not connection.usable or self._closed:
            connection.abort()
            self._count -= 1
            self._wake()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        self._idle.append(connection)

    async def take_out(self, *, fresh: bool = False) -> ClientConnection:
        """A connection for a stream or an upgrade, which does not count while it lasts."""
        if self._closed:
            raise ClientClosed("the client is closed")
        connection = None if fresh else self.take_idle()
        if connection is None:
            return await self._connect()
        self._count -= 1
        self._wake()
        return connection

    def put_in(self, connection: ClientConnection) -> None:
        """The stream is done."""
        if connection.usable and self._count < self._size and not self._closed:
            self._count += 1
            self.give_back(connection)
        else:
            connection.abort()

    def use_tls(self, ssl: tls.SSLContext) -> None:
        """Make connections with `ssl` from now on; those there are end with what they carry."""
        self._ssl = ssl
        for connection in self._all:
            connection.reusable = False
        while self._idle:
            self._idle.pop().close()
            self._count -= 1
            self._wake()

    async def close(self) -> None:
        self._closed = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
        for connection in list(self._all):
            connection.fail(ClientClosed("the client is closed"))
        self._idle.clear()
        if self._all:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    async def _connect(self) -> ClientConnection:
        name = None
        if self._ssl is not None:
            name = (self._ssl.server_name if isinstance(self._ssl, ClientContext) else None) or self._host
        where = f"{self._host}:{self._port}"
        ssl = self._ssl
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                connection = await self._open(name)
        except TimeoutError as error:
            raise TimedOut(f"no connection to {where} within {self._connect_timeout_s} s") from error
        except OSError as error:
            raise ConnectFailed(f"no connection to {where}: {_reason(error)}") from error
        if self._closed:
            connection.abort()
            raise ClientClosed("the client is closed")
        # Other certificates may have come into use meanwhile; this one then carries one request.
        connection.reusable = connection.reusable and ssl is self._ssl
        if not connection.lost:
            self._all.add(connection)
        return connection

    async def _open(self, server_name: str | None) -> ClientConnection:
        connection = ClientConnection(self._buffer, self._max_bytes, self._lost)
        if self._proxy is not None:
            return await tunnel(self._proxy, self._host, self._port, connection, self._ssl, server_name)
        await asyncio.get_running_loop().create_connection(
            lambda: connection, self._host, self._port, ssl=self._ssl, server_hostname=server_name
        )
        return connection

    def _lost(self, connection: ClientConnection) -> None:
        self._all.discard(connection)
        if self._emptied is not None and not self._all and not self._emptied.done():
            self._emptied.set_result(None)

    async def _wait(self) -> ClientConnection | None:
        """Wait in line for a connection, or (None) for the chance to make one."""
        waiter: asyncio.Future[ClientConnection | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                connection = waiter.result()
                if connection is not None:
                    self.give_back(connection)
                else:
                    self._wake()
            raise

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


def _reason(error: OSError) -> str:
    """In words. What asyncio adds to them is the address, which is named already."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return str(error)
