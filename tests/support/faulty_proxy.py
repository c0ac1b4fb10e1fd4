"""A TCP proxy that misbehaves when told to: it is slow, it goes silent, it breaks connections.

What it holds back while silent is delivered afterwards, late: as a network does that lost packets and sends
them again.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

from steersman.aio import Scope
from tests.support.waiting import pass_time

__all__ = ["FaultyProxy"]

_CHUNK = 65_536


class FaultyProxy:
    """Between whoever connects to `port` and the server that listens on `target`: a socket's path, or a host
    and a port. It runs as long as `scope` does."""

    def __init__(self, target: Path | tuple[str, int], scope: Scope) -> None:
        self.target = target
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.delay_s = 0.0
        """How long every piece takes, each way."""
        self.connections = 0
        """Made since the beginning."""
        self._scope = scope
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._answering = asyncio.Event()
        self._answering.set()
        self._ending = asyncio.Event()
        self._ending.set()
        self._refusing = False
        self._writers: set[asyncio.StreamWriter] = set()
        scope.start(self._listen(), name=f"proxy {self.port}")

    def hold(self, *, answers: bool = True) -> None:
        """Nothing gets through, and nobody is told; unless `answers` are held as well, these still do."""
        self._flowing.clear()
        if answers:
            self._answering.clear()

    def flow(self) -> None:
        """Everything gets through again, what was held back first."""
        self._flowing.set()
        self._answering.set()
        self._refusing = False

    def hold_ends(self) -> None:
        """Connections that one side has given up stay open for the other, until `let_end`."""
        self._ending.clear()

    def let_end(self) -> None:
        self._ending.set()

    def refuse(self) -> None:
        """All connections break, and new ones do at once."""
        self._refusing = True
        self.break_connections()

    def break_connections(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._socket)
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            self.break_connections()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._refusing:
            writer.transport.abort()
            return
        self._scope.start(self._serve(reader, writer), name="proxied connection")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._flowing.wait()
            there_reader, there_writer = await self._connect()
        except OSError:
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(there_writer)
        async with Scope() as scope:
            scope.start(self._pump(reader, there_writer, self._flowing))
            scope.start(self._pump(there_reader, writer, self._answering))
            await scope.join()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self.target, Path):
            return await asyncio.open_unix_connection(self.target)
        return await asyncio.open_connection(*self.target)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flowing: asyncio.Event
    ) -> None:
        try:
            with suppress(OSError):
                while piece := await reader.read(_CHUNK):
                    await pass_time(self.delay_s, "the delay that the test has set")
                    await flowing.wait()
                    writer.write(piece)
                    await writer.drain()
            # The end takes as long as what came before it.
            await pass_time(self.delay_s, "the delay that the test has set")
            await self._ending.wait()
        finally:
            self._writers.discard(writer)
            writer.close()
