"""From any event loop to the cluster's: clients of a cluster that runs in a thread of its own.

A client can be awaited in any loop; its requests are made in the cluster's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar, Unpack

from steersman.client.transport import (
    RequestOptions,
    StreamedAnswer,
    StreamOptions,
    Transport,
    WebSocketOptions,
)
from steersman.http import ClientResponse, Headers, WebSocket

__all__ = ["Bridge", "run_at"]

T = TypeVar("T")


async def run_at(home: asyncio.AbstractEventLoop, act: Callable[[], Awaitable[T]]) -> T:
    """Await what `act` makes in the loop `home`, whichever loop is running here."""

    async def there() -> T:
        return await act()

    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "Steersman's clients and clusters work in asyncio's loops only: run this test on asyncio"
        ) from None
    if here is home:
        return await act()
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), home))


class Bridge:
    """A transport whose requests are made in another loop."""

    def __init__(self, inner: Transport, home: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._home = home

    async def request(self, method: str, target: str, **options: Unpack[RequestOptions]) -> ClientResponse:
        return await run_at(self._home, lambda: self._inner.request(method, target, **options))

    @asynccontextmanager
    async def stream(
        self, method: str, target: str, **options: Unpack[StreamOptions]
    ) -> AsyncIterator[StreamedAnswer]:
        opened = AsyncExitStack()
        opening = self._inner.stream(method, target, **options)
        answer = await run_at(self._home, lambda: opened.enter_async_context(opening))
        try:
            yield answer if asyncio.get_running_loop() is self._home else _Bridged(answer, self._home)
        finally:
            await run_at(self._home, opened.aclose)

    async def websocket(
        self, target: str, subprotocols: Sequence[str] = (), **options: Unpack[WebSocketOptions]
    ) -> WebSocket:
        if asyncio.get_running_loop() is not self._home:
            raise RuntimeError("commands and forwarded ports work inside the cluster's loop: use cluster.run")
        return await self._inner.websocket(target, subprotocols, **options)

    async def close(self) -> None:
        await run_at(self._home, self._inner.close)


class _Bridged:
    """A stream of another loop."""

    def __init__(self, answer: StreamedAnswer, home: asyncio.AbstractEventLoop) -> None:
        self._answer = answer
        self._home = home

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Headers:
        return self._answer.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return self._each(self._answer.chunks())

    def lines(self) -> AsyncIterator[bytes]:
        return self._each(self._answer.lines())

    async def read(self) -> bytes:
        return await run_at(self._home, self._answer.read)

    async def _each(self, there: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        while (piece := await run_at(self._home, lambda: anext(there, None))) is not None:
            yield piece
