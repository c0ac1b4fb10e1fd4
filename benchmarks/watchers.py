"""Many open watches in this process, as cheap as they can be: bytes are counted and summed, not decoded.

Watchers of the same thing from the same revision must get the same bytes. So one of them (the *reader*)
keeps what it got, to be checked event by event, and the others have only to agree with it: the same
checksum over the same number of lines.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit
from zlib import crc32

import httptools

from benchmarks.process import ServerProcess

__all__ = ["Watcher", "Watchers", "trusting_tls"]

#: Handshakes at the same time.
_OPENING = 32


class Watcher(asyncio.Protocol):
    """One watch. `arrivals` has the time and the number of lines of each piece that came."""

    def __init__(self, request: bytes, changed: Callable[[], None]) -> None:
        self._request = request
        self._changed = changed
        self._parser = httptools.HttpResponseParser(self)
        self.opened = asyncio.get_running_loop().create_future()
        self.lines = 0
        self.checksum = 0
        self.ended = False
        #: Kept only if a list is put here.
        self.arrivals: list[tuple[float, int]] | None = None
        self.kept: list[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status == 200:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(RuntimeError(f"a watch was answered with {status}"))

    def on_body(self, piece: bytes) -> None:
        lines = piece.count(b"\n")
        self.lines += lines
        self.checksum = crc32(piece, self.checksum)
        if self.kept is not None:
            self.kept.append(piece)
        if self.arrivals is not None:
            self.arrivals.append((time.perf_counter(), lines))
        self._changed()

    def connection_lost(self, error: Exception | None) -> None:
        self.ended = True
        if not self.opened.done():
            self.opened.set_exception(RuntimeError("a watch was closed before its answer"))
        self._changed()

    def close(self) -> None:
        self._transport.abort()


class Watchers:
    """Open watches of one thing since one revision."""

    def __init__(self) -> None:
        self.all: list[Watcher] = []
        self._piece_came = asyncio.Event()

    @property
    def reader(self) -> Watcher:
        return self.all[0]

    async def open(self, server: ServerProcess, target: str, count: int) -> None:
        url = urlsplit(server.url)
        assert url.hostname
        assert url.port
        host, port, tls = url.hostname, url.port, trusting_tls()
        request = (
            f"GET {target} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        ).encode()
        loop = asyncio.get_running_loop()
        opening = asyncio.Semaphore(_OPENING)

        async def one() -> Watcher:
            async with opening:
                _, watcher = await loop.create_connection(
                    lambda: Watcher(request, self._piece_came.set), host, port, ssl=tls
                )
                await watcher.opened
                return watcher

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one()) for _ in range(count)]
        self.all = [task.result() for task in tasks]
        self.reader.kept = []

    async def wait_for_lines(self, count: int, timeout_s: float) -> bool:
        """Whether all have got that many lines in time."""
        try:
            async with asyncio.timeout(timeout_s):
                for watcher in self.all:
                    while watcher.lines < count and not watcher.ended:
                        self._piece_came.clear()
                        await self._piece_came.wait()
        except TimeoutError:
            pass
        return all(watcher.lines == count for watcher in self.all)

    def disagreeing(self) -> int:
        """How many have not got exactly what the reader got."""
        expected = self.reader.lines, self.reader.checksum
        return sum((watcher.lines, watcher.checksum) != expected for watcher in self.all)

    def events(self) -> list[bytes]:
        """What the reader got, line by line."""
        assert self.reader.kept is not None
        return b"".join(self.reader.kept).splitlines()

    def close(self) -> None:
        for watcher in self.all:
            watcher.close()


def trusting_tls() -> ssl.SSLContext:
    """TLS towards a server of which it is known whose it is."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return tls
