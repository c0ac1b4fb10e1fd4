"""Requests to the API server of this process, without sockets, TLS or parsing.

`InProcess` is a client's transport (`steersman.client.Transport`). The server's handler is called as its
HTTP server would call it: the user is the one of the Authorization header, and authorization, fairness,
admission and audit all apply. A caller that is cancelled cancels its request, like one that hangs up.

WebSockets go through the server's real socket.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, TypeVar, cast

from steersman.aio import Scope
from steersman.http import (
    Client,
    ClientResponse,
    Connection,
    Handler,
    Headers,
    Limits,
    OnError,
    RawHeaders,
    Request,
    RequestRefused,
    Response,
    Stream,
    StreamingResponse,
    Upgraded,
    WebSocket,
)
from steersman.http.body import HIGH_WATER_BYTES, Body
from steersman.http.errors import BodyTooLarge, ConnectFailed, ConnectionClosed, Disconnected, TimedOut

__all__ = ["InProcess"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

_BODY_LIMIT_BYTES = Limits().body_bytes
_TIMEOUT_S = 60.0
_DRAIN_S = 5.0


class InProcess:
    """The transport of one client. `fields` go with every request."""

    def __init__(
        self, handler: Handler, on_error: OnError, connect: Callable[[], Client], fields: RawHeaders = ()
    ) -> None:
        self._handler = handler
        self._on_error = on_error
        self._connect = connect
        self._fields = tuple(fields)
        self._connection = Connection(("127.0.0.1", 0), None)
        self._scope = Scope(on_error=_report)
        self._exchanges: set[_Exchange] = set()
        self._http: Client | None = None
        self._closed = False
        self._idle = asyncio.Event()

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        """Have a request answered as a whole."""
        # A caller that asks again and again must not keep everyone else from running.
        await asyncio.sleep(0)
        exchange = self._open(bounded=False)
        try:
            answer = self._call(exchange, method, target, headers, content)
            if answer is not None and not isinstance(answer, Response):
                answer = await _within(_TIMEOUT_S if timeout_s is None else timeout_s, answer)
            if answer is None:
                return ClientResponse(exchange.status, exchange.headers, await exchange.body.read())
        finally:
            exchange.leave()
            self._done(exchange)
        body = b"" if method == "HEAD" else _whole(answer)
        return ClientResponse(answer.status, _lower(tuple(answer.headers)), body)

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
        """Have a request answered piece by piece; a reader that is slow slows the server down."""
        limit_s = _TIMEOUT_S if timeout_s is None else timeout_s
        return _StreamContext(self, method, target, headers, content, limit_s, read_timeout_s)

    async def websocket(
        self,
        target: str,
        subprotocols: Sequence[str] = (),
        *,
        headers: RawHeaders = (),
        timeout_s: float | None = None,
    ) -> WebSocket:
        self._check_open()
        if self._http is None:
            self._http = self._connect()
        fields = (*self._fields, *headers)
        return await self._http.websocket(target, subprotocols, headers=fields, timeout_s=timeout_s)

    async def close(self) -> None:
        """Let requests in flight have their answer, end streams, refuse whatever comes later."""
        self._closed = True
        for exchange in tuple(self._exchanges):
            exchange.end()
        try:
            async with asyncio.timeout(_DRAIN_S):
                while self._exchanges:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            _log.warning("%d requests were not done in time", len(self._exchanges))
        await self._scope.close()
        if self._http is not None:
            await self._http.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ConnectFailed("the connection to the cluster of this process is closed")

    def _open(self, *, bounded: bool) -> _Exchange:
        self._check_open()
        exchange = _Exchange(bounded=bounded)
        self._exchanges.add(exchange)
        return exchange

    def _done(self, exchange: _Exchange) -> None:
        """The server has nothing more to do with it."""
        self._exchanges.discard(exchange)
        if not self._exchanges:
            self._idle.set()

    def _call(
        self, exchange: _Exchange, method: str, target: str, headers: RawHeaders, content: bytes
    ) -> Response | Awaitable[Response | None] | None:
        """What the handler answers; None if it has streamed the answer through the exchange."""
        given = _given(self._fields, tuple(headers))
        request = Request(method, target, given, self._connection, exchange, True, True)
        try:
            if len(content) > _BODY_LIMIT_BYTES:
                raise BodyTooLarge(_BODY_LIMIT_BYTES)
            request.content = content
            answer = self._handler(request)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises becomes an answer
            return self._failed(exchange, request, error)
        if answer is None or isinstance(answer, Response):
            return answer
        return self._finish(exchange, request, answer)

    async def _finish(
        self, exchange: _Exchange, request: Request, pending: Awaitable[Response | None]
    ) -> Response | None:
        try:
            return await pending
        except Exception as error:  # noqa: BLE001 - whatever a handler raises becomes an answer
            return self._failed(exchange, request, error)

    def _failed(self, exchange: _Exchange, request: Request, error: Exception) -> Response:
        if isinstance(error, ConnectionClosed):
            raise Disconnected(str(error)) from error
        response = self._on_error(request, error)
        if response is None or exchange.started:
            raise Disconnected("the server failed in the middle of its answer") from error
        return response


class _Exchange:
    """The server's end of a request: where its handler opens streams, and what those write to."""

    def __init__(self, *, bounded: bool) -> None:
        self.body = Body(self)
        self.status = 0
        self.headers = Headers([])
        #: Done when the head of the answer is there.
        self.opened: asyncio.Future[None] | None = None
        # A reader that collects everything anyway is not waited for.
        self._bounded = bounded
        self._stream: Stream | None = None
        self._writers: list[asyncio.Future[None]] = []
        self._left = False
        self._written_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def started(self) -> bool:
        return self._stream is not None

    def respond(self, response: Response, method: str) -> None:
        """An answer that is no stream, for a reader that takes it as one."""
        self._head(response.status, response.headers)
        if method != "HEAD" and (whole := _whole(response)):
            self.body.feed(whole)
        self.body.finish()

    def fail(self, error: Disconnected) -> None:
        """There is no answer, or no more of it."""
        if self.opened is not None and not self.opened.done():
            self.opened.set_exception(error)
        self.body.fail(error)

    def end(self) -> None:
        """The server goes away: streams get their proper end."""
        if self._stream is not None:
            self._stream.end()

    def expect_data(self, limit_s: float) -> None:
        """Give up on a server that is silent for so long; one timer, set anew only when it fires."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        # As long as there is something to read, it is not the server that is slow.
        since = now if self._timer is None or self.body.size else self._written_at
        if since + limit_s <= now:
            self.body.fail(TimedOut(f"the server sent nothing for {limit_s} s"))
        elif not self.body.complete:
            self._timer = loop.call_at(since + limit_s, self.expect_data, limit_s)

    def leave(self) -> None:
        """The client goes away."""
        self._left = True
        if self._timer is not None:
            self._timer.cancel()
        if self._stream is not None:
            self._stream.lost()
        self.body_drained()

    def _head(self, status: int, headers: RawHeaders) -> None:
        self.status = status
        self.headers = _lower(tuple(headers))
        if self.opened is not None and not self.opened.done():
            self.opened.set_result(None)

    # called through Request

    def open_stream(self, request: Request, status: int, headers: RawHeaders) -> Stream:
        if self._stream is not None:
            raise RuntimeError(f"{request!r} has already been answered")
        muted = request.method == "HEAD"
        # Of a transport, an unchunked stream only calls write, abort and get_write_buffer_size.
        self._stream = Stream(self, cast(asyncio.Transport, self), chunked=False, muted=muted)
        self._head(status, headers)
        return self._stream

    def hand_over(self, request: Request, headers: RawHeaders) -> Upgraded:
        raise RequestRefused(400, "Bad Request: a request within the process cannot be upgraded")

    # called by Stream

    def write(self, data: bytes) -> None:
        if self._timer is not None:
            self._written_at = asyncio.get_running_loop().time()
        self.body.feed(data)

    def get_write_buffer_size(self) -> int:
        return self.body.size

    def abort(self) -> None:
        self.body.fail(Disconnected("the server broke off its answer"))

    def stream_ended(self) -> None:
        self.body.finish()

    async def wait_writable(self) -> None:
        while self._bounded and self.body.size > HIGH_WATER_BYTES and not self._left:
            waiter = asyncio.get_running_loop().create_future()
            self._writers.append(waiter)
            await waiter
        if self._left:
            raise ConnectionClosed("the client closed the connection")

    # called by Body

    def body_wanted(self) -> None:
        pass

    def body_drained(self) -> None:
        writers, self._writers = self._writers, []
        for waiter in writers:
            if not waiter.done():
                waiter.set_result(None)


class _StreamContext:
    """The life of one streamed answer, whose handler runs in a task of its own."""

    def __init__(
        self,
        transport: InProcess,
        method: str,
        target: str,
        headers: RawHeaders,
        content: bytes,
        limit_s: float,
        read_timeout_s: float | None,
    ) -> None:
        self._transport = transport
        self._request = (method, target, headers, content)
        self._limit_s = limit_s
        self._read_timeout_s = read_timeout_s
        self._exchange: _Exchange | None = None
        self._task: asyncio.Task[Any] | None = None

    async def __aenter__(self) -> StreamingResponse:
        self._exchange = exchange = self._transport._open(bounded=True)
        exchange.opened = asyncio.get_running_loop().create_future()
        self._task = self._transport._scope.start(self._serve(exchange), name="in-process stream")
        try:
            await _within(self._limit_s, exchange.opened)
        except BaseException:
            await self._leave()
            raise
        if self._read_timeout_s is not None:
            exchange.expect_data(self._read_timeout_s)
        return StreamingResponse(exchange.status, exchange.headers, exchange.body)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    async def _serve(self, exchange: _Exchange) -> None:
        try:
            response = self._transport._call(exchange, *self._request)
            if response is not None and not isinstance(response, Response):
                response = await response
        except Disconnected as error:
            exchange.fail(error)
        except asyncio.CancelledError:
            exchange.fail(Disconnected("the request was cancelled"))
            raise
        else:
            if response is not None:
                exchange.respond(response, self._request[0])
        finally:
            self._transport._done(exchange)

    async def _leave(self) -> None:
        """Have the handler end, and wait until it has: nothing of it runs on."""
        exchange, task = self._exchange, self._task
        if exchange is None or task is None:
            return
        self._exchange = self._task = None
        exchange.leave()
        task.cancel()
        await asyncio.wait((task,))
        # A task that is cancelled before its first step has not said so.
        self._transport._done(exchange)


async def _within(limit_s: float, pending: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(limit_s):
            return await pending
    except TimeoutError as error:
        raise TimedOut(f"no answer within {limit_s} s") from error


@lru_cache(maxsize=1024)
def _given(usual: tuple[tuple[bytes, bytes], ...], own: tuple[tuple[bytes, bytes], ...]) -> Headers:
    """A request's header fields; its own replace the usual ones of the same name."""
    names = {name.lower() for name, _ in own}
    return _lower((*(field for field in usual if field[0].lower() not in names), *own))


@lru_cache(maxsize=1024)
def _lower(headers: tuple[tuple[bytes, bytes], ...]) -> Headers:
    """Header fields as a receiver sees them. They come again and again and are made once."""
    return Headers([(name.lower(), value) for name, value in headers])


def _whole(response: Response) -> bytes:
    body = response.body
    return body if isinstance(body, bytes) else b"".join(body)


def _report(error: BaseException) -> None:
    _log.error("a request within the process failed", exc_info=error)
