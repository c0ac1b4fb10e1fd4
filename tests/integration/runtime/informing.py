"""What the informers' tests share: a real cluster, a hasty clock, and a way to break watches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from steersman.aio import Scope
from steersman.client import Client, Transport
from steersman.client.transport import StreamedAnswer
from steersman.http import ClientResponse, Headers, RawHeaders, WebSocket
from steersman.http.errors import Disconnected
from steersman.runtime.informers import Informers
from tests.support.waiting import pass_time, until

__all__ = ["BreakableTransport", "HastyClock", "eventually", "running"]

PATIENCE_S = 20.0


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something is so; fail if that takes too long."""
    await until(condition, PATIENCE_S, every_s=0.005)


class HastyClock:
    """Real time, `speed` times as fast: backoffs and silences are over soon."""

    def __init__(self, speed: float) -> None:
        self._speed = speed

    def monotonic(self) -> float:
        return time.monotonic() * self._speed

    def wall(self) -> float:
        return time.time()

    async def sleep(self, delay_s: float) -> None:
        await pass_time(delay_s / self._speed, "a hurried clock")


class BreakableTransport:
    """Another transport whose watches can break or fall silent."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.streams: list[_Breakable] = []

    def break_watches(self) -> None:
        for stream in self.streams:
            stream.broken.set()

    def silence_watches(self) -> None:
        for stream in self.streams:
            stream.silent = True

    def request(self, method: str, target: str, **options: Any) -> Awaitable[ClientResponse]:
        return self._transport.request(method, target, **options)

    @asynccontextmanager
    async def stream(self, method: str, target: str, **options: Any) -> AsyncIterator[StreamedAnswer]:
        async with self._transport.stream(method, target, **options) as answer:
            breakable = _Breakable(answer)
            self.streams.append(breakable)
            try:
                yield breakable
            finally:
                self.streams.remove(breakable)

    def websocket(
        self, target: str, *args: Any, headers: RawHeaders = (), **options: Any
    ) -> Awaitable[WebSocket]:
        return self._transport.websocket(target, *args, headers=headers, **options)

    async def close(self) -> None:
        await self._transport.close()


class _Breakable:
    def __init__(self, answer: StreamedAnswer) -> None:
        self._answer = answer
        self.broken = asyncio.Event()
        self.silent = False

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Headers:
        return self._answer.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return self._answer.chunks()

    async def read(self) -> bytes:
        return await self._answer.read()

    async def lines(self) -> AsyncIterator[bytes]:
        source = self._answer.lines()

        async def line() -> bytes | None:
            return await anext(source, None)

        async with Scope() as scope:
            breaking = scope.start(self.broken.wait())
            while True:
                reading = scope.start(line())
                await asyncio.wait((breaking, reading), return_when=asyncio.FIRST_COMPLETED)
                if breaking.done():
                    raise Disconnected("the connection was cut")
                if (received := reading.result()) is None:
                    return
                if not self.silent:
                    yield received


@asynccontextmanager
async def running(client: Client, *, speed: float = 1.0, **options: Any) -> AsyncIterator[Informers]:
    """A set of informers that runs."""
    informers = Informers(client, HastyClock(speed), **options)
    async with Scope() as scope:
        scope.start(informers.run())
        yield informers
