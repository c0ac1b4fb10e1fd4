"""A client's transport through which faults come. `Faults` decides, this does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Unpack

import orjson

from steersman.aio import Scope
from steersman.client.transport import (
    RequestOptions,
    StreamedAnswer,
    StreamOptions,
    Transport,
    WebSocketOptions,
)
from steersman.http import ClientResponse, Headers, HttpError, WebSocket
from steersman.http.errors import ConnectFailed, Disconnected, TimedOut
from steersman.objects.status import StatusError
from steersman.testing.faults import Faults, Plan
from steersman.testing.requests import ApiRequest

__all__ = ["FaultyTransport"]

_log = logging.getLogger(__name__)

#: How long a caller waits that does not say: what `steersman.http.Client` waits.
_TIMEOUT_S = 60.0
#: Below this no time is left to wait; sums of times are not exact.
_INSTANT_S = 1e-6


class FaultyTransport:
    """Everything a client sends goes through it, and may not arrive."""

    def __init__(self, inner: Transport, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults
        self._watches: set[_Watch] = set()
        self._cut = False

    def cut(self) -> None:
        """Let nothing through any more, in either direction: whoever used it is dead to the server."""
        self._cut = True
        for watch in tuple(self._watches):
            watch.end(Disconnected("the connection is cut"))

    async def request(self, method: str, target: str, **options: Unpack[RequestOptions]) -> ClientResponse:
        plan = self._plan(ApiRequest.sent(method, target, options))
        limit_s = _limit_s(options)
        if plan.refusal is not None:
            await _late(plan, limit_s)
            return ClientResponse(plan.refusal.code, _headers(plan.refusal), _body(plan.refusal))
        answer = await self._inner.request(method, target, **options)
        await _late(plan, limit_s)
        self._check_cut()
        return answer

    @asynccontextmanager
    async def stream(
        self, method: str, target: str, **options: Unpack[StreamOptions]
    ) -> AsyncIterator[StreamedAnswer]:
        request = ApiRequest.sent(method, target, options)
        plan = self._plan(request)
        await _late(plan, _limit_s(options))
        if plan.refusal is not None:
            yield _Refusal(plan.refusal)
            return
        async with self._inner.stream(method, target, **options) as answer:
            if request.verb != "watch" or answer.status >= 400:
                yield answer
                return
            async with self._watch(request, answer, options.get("read_timeout_s")) as watch:
                yield watch

    async def websocket(
        self, target: str, subprotocols: Sequence[str] = (), **options: Unpack[WebSocketOptions]
    ) -> WebSocket:
        self._check_cut()
        return await self._inner.websocket(target, subprotocols, **options)

    async def close(self) -> None:
        await self._inner.close()

    def _plan(self, request: ApiRequest) -> Plan:
        self._check_cut()
        plan = self._faults.plan(request)
        # What is called by a fault may cut this very connection.
        self._check_cut()
        if plan.lost:
            raise ConnectFailed("injected: connection refused")
        return plan

    def _check_cut(self) -> None:
        if self._cut:
            raise ConnectFailed("the connection is cut")

    @asynccontextmanager
    async def _watch(
        self, request: ApiRequest, answer: StreamedAnswer, read_timeout_s: float | None
    ) -> AsyncIterator[_Watch]:
        watch = _Watch(self._faults, request, answer, read_timeout_s)
        self._watches.add(watch)
        self._faults.opened(watch)
        # Closed by hand: what enters and what leaves may be different tasks.
        scope = Scope(on_error=_report)
        scope.start(watch.pump(), name=f"{request} through faults")
        try:
            yield watch
        finally:
            self._watches.discard(watch)
            self._faults.closed(watch)
            await scope.close()


def _limit_s(options: RequestOptions | StreamOptions) -> float:
    """How long the caller waits for an answer."""
    timeout_s = options.get("timeout_s")
    return _TIMEOUT_S if timeout_s is None else timeout_s


async def _late(plan: Plan, limit_s: float) -> None:
    """What happens to an answer on its way back."""
    if plan.hangs or plan.delay_s > limit_s:
        await asyncio.sleep(limit_s)
        raise TimedOut(f"no answer within {limit_s} s")
    if plan.delay_s:
        await asyncio.sleep(plan.delay_s)
    if plan.answer_lost:
        raise Disconnected("injected: connection reset")


class _Watch:
    """An open watch whose lines pass through a queue, where they can be lost, late or others."""

    def __init__(
        self, faults: Faults, request: ApiRequest, answer: StreamedAnswer, read_timeout_s: float | None
    ) -> None:
        self.request = request
        self.status = answer.status
        self.headers = answer.headers
        self._faults = faults
        self._answer = answer
        self._read_timeout_s = read_timeout_s
        self._loop = asyncio.get_running_loop()
        #: Lines with the time they came; None ends the watch, an error breaks it.
        self._lines: asyncio.Queue[tuple[float, bytes | Exception | None]] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._silent = False

    # from any thread

    def end(self, error: Exception | None = None) -> None:
        self._put_soon(error)

    def say(self, line: bytes) -> None:
        self._put_soon(line)

    def silence(self) -> None:
        self._silent = True

    def wake(self) -> None:
        self._loop.call_soon_threadsafe(self._changed.set)

    def _put_soon(self, item: bytes | Exception | None) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, (self._loop.time(), item))

    # in the cluster's loop

    async def pump(self) -> None:
        """Take the lines as they come, so that it is known when they came."""
        try:
            async for line in self._answer.lines():
                self._take(line)
            self._take(None)
        except HttpError as error:
            self._take(error)

    def _take(self, item: bytes | Exception | None) -> None:
        if not self._silent:
            self._lines.put_nowait((self._loop.time(), item))

    async def lines(self) -> AsyncIterator[bytes]:
        while True:
            came, item = await self._next()
            while self._faults.holds(self.request) or self._lag_s(came) > _INSTANT_S:
                await self._wait_changed(self._lag_s(came))
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item

    async def chunks(self) -> AsyncIterator[bytes]:
        async for line in self.lines():
            yield line + b"\n"

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def _next(self) -> tuple[float, bytes | Exception | None]:
        try:
            async with asyncio.timeout(self._read_timeout_s):
                return await self._lines.get()
        except TimeoutError:
            raise TimedOut(f"the server sent nothing for {self._read_timeout_s} s") from None

    def _lag_s(self, came: float) -> float:
        return came + self._faults.lag_s(self.request) - self._loop.time()

    async def _wait_changed(self, limit_s: float) -> None:
        """Until holds or lags change; while nothing is held, not longer than the lag."""
        self._changed.clear()
        held = self._faults.holds(self.request)
        try:
            async with asyncio.timeout(None if held else limit_s):
                await self._changed.wait()
        except TimeoutError:
            pass


class _Refusal:
    """A made-up answer, to be read like a stream."""

    def __init__(self, error: StatusError) -> None:
        self.status = error.code
        self.headers = _headers(error)
        self._content = _body(error)

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._content

    async def lines(self) -> AsyncIterator[bytes]:
        yield self._content

    async def read(self) -> bytes:
        return self._content


def _headers(error: StatusError) -> Headers:
    return Headers([(b"content-type", b"application/json"), *error.headers])


def _body(error: StatusError) -> bytes:
    return orjson.dumps(error.status())


def _report(error: BaseException) -> None:
    _log.error("a watch of the test kit failed", exc_info=error)
