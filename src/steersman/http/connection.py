"""One connection of a server: requests in, responses out, in order.

The transport calls it; it calls the handler. It decides when to read on, when to answer and when to
close, and leaves understanding the bytes to `parsing`. It creates no task for a handler that answers
at once: parse and handle happen in one go inside `received`. Small answers are written at the end of the
loop's turn, together with those of other connections; whatever else is written goes behind them.

    phase    until                                        deadline
    -------  -------------------------------------------  ------------------------------------------
    IDLE     the first byte of a request                  idle timeout, then close
    HEAD     the end of its header                        header timeout, then 408 (also: no request yet)
    BODY     the end of its body (buffered requests)      body timeout, then 408
    BUSY     the response is written                      write timeout if the peer takes nothing
    LINGER   the refused peer has read the answer         linger time, then close
    CLOSING  the transport is gone                        write timeout, then abort
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Protocol, cast

from steersman.aio import Scope
from steersman.http.body import HIGH_WATER_BYTES
from steersman.http.coding import accepts_gzip, deflater
from steersman.http.errors import ConnectionClosed, RequestRefused, WebSocketClosed
from steersman.http.headers import RawHeaders
from steersman.http.limits import Limits
from steersman.http.outbox import Outbox
from steersman.http.parsing import RequestParser
from steersman.http.receiving import Receiver, probe_when_silent
from steersman.http.request import Connection, Request
from steersman.http.response import Content, Joined, Response, batches, encode_head, status_line
from steersman.http.stream import Stream
from steersman.http.sweep import NEVER, Sweeper
from steersman.http.upgraded import Upgraded

__all__ = ["Handler", "OnError", "ServerConnection", "ServerContext"]

Handler = Callable[[Request], Response | Awaitable[Response | None] | None]
"""Answers a request: a Response, or something to await for one; None if it answers in another way."""

OnError = Callable[[Request | None, Exception], Response | None]
"""Turns an error into the answer (None: the default one); without a request if none was understood."""

# Below this, joining header and body into one write is cheaper than two writes.
_JOIN_BYTES = 64 << 10
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE = b"Connection: close\r\n"
_KEEP_ALIVE_10 = b"Connection: keep-alive\r\n"


# The phases, in order: from LINGER on nothing more is said. Plain integers, because looking up enum
# members would cost 5 % of a request.
IDLE, HEAD, BODY, BUSY, LINGER, CLOSING = range(6)


class ServerContext(Protocol):
    """What all connections of a server share."""

    handler: Handler
    limits: Limits
    streams_body: Callable[[Request], bool] | None
    scope: Scope
    sweeper: Sweeper
    outbox: Outbox
    buffer: memoryview
    draining: bool
    connections: set[ServerConnection]
    upgraded: set[Upgraded]

    def answer_for(self, request: Request | None, error: Exception) -> Response: ...

    def adopt(self, upgraded: Upgraded) -> None: ...

    def changed(self) -> None:
        """A connection has ended or become a stream, which a drain may be waiting for."""
        ...


class ServerConnection(Receiver):
    """The protocol of one accepted connection."""

    __slots__ = (
        "_advancing",
        "_answer",
        "_can_write",
        "_current",
        "_handler",
        "_keep",
        "_limits",
        "_outbox",
        "_parser",
        "_paused",
        "_phase",
        "_pump",
        "_server",
        "_started",
        "_stream",
        "_sweeper",
        "_task",
        "_transport",
        "_unsent",
        "_unwritten",
        "_writers",
        "deadline",
    )

    _transport: asyncio.Transport
    _parser: RequestParser

    def __init__(self, server: ServerContext) -> None:
        super().__init__(server.buffer)
        self._server = server
        self._handler = server.handler
        self._limits = server.limits
        self._sweeper = server.sweeper
        self._outbox = server.outbox
        # Answers for the end of the turn.
        self._unwritten = b""
        self._phase = IDLE
        self.deadline = NEVER
        # The request being answered. Others wait in the parser's `ready`.
        self._current: Request | None = None
        # Whether its response has been started, and whether the connection outlives it.
        self._started = False
        self._keep = True
        # What its response still depends on: a running handler, a stream, a large body.
        self._task: asyncio.Task[None] | None = None
        self._answer: Awaitable[Response | None] | None = None
        self._stream: Stream | None = None
        self._pump: Iterator[bytes | memoryview] | None = None
        self._advancing = False
        self._paused = False
        self._can_write = True
        self._unsent = 0
        self._writers: list[asyncio.Future[None]] = []

    @property
    def busy(self) -> bool:
        """Whether a request is being received or answered, streams aside."""
        if self._phase >= LINGER:
            return True
        if self._current is not None:
            return self._stream is None
        return self._parser.mid_head or self._parser.mid_body

    # called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        probe_when_silent(transport)
        peer = transport.get_extra_info("peername")
        client = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else ("", 0)
        own = transport.get_extra_info("sockname")
        host = str(own[0]) if isinstance(own, tuple) else ""
        info = Connection(client, transport.get_extra_info("ssl_object"), host)
        self._parser = RequestParser(self._limits, info, self, self, self._server.streams_body)
        server = self._server
        if server.scope.closed:
            # Its TLS handshake ended after the server did.
            self._phase = CLOSING
            self._transport.abort()
            return
        full = len(server.connections) + len(server.upgraded) >= self._limits.connections
        server.connections.add(self)
        self._sweeper.members.add(self)
        self._phase = HEAD
        self.deadline = self._sweeper.now + self._limits.header_timeout_s
        if full:
            self._refuse(None, RequestRefused(503, "Service Unavailable: too many connections"))

    def received(self, data: memoryview) -> None:
        if self._phase < LINGER:
            self._parser.feed(data)
            self._advance()

    def connection_lost(self, error: Exception | None) -> None:
        self._phase = CLOSING
        self._unwritten = b""
        self._server.connections.discard(self)
        self._sweeper.members.discard(self)
        self._pump = None
        lost = ConnectionClosed("the client has disconnected")
        for request in (self._current, self._parser.receiving):
            if request is not None and request.body is not None:
                request.body.fail(lost)
        self._cancel_handler()
        self._wake_writers()
        self._server.changed()
        if self._stream is not None:
            self._stream.lost()

    def pause_writing(self) -> None:
        self._can_write = False
        if self._phase == BUSY and self._stream is None:
            self._unsent = self._transport.get_write_buffer_size()
            self.deadline = self._sweeper.now + self._limits.write_timeout_s

    def resume_writing(self) -> None:
        self._can_write = True
        if self._phase == BUSY:
            self.deadline = NEVER
        self._wake_writers()
        if self._pump is not None:
            self._run_pump()
        self._advance()

    # called by the sweeper, the outbox and the server

    def expire(self) -> None:
        phase = self._phase
        if phase in (IDLE, LINGER):
            self._close()
        elif phase == CLOSING:
            self._transport.abort()
        elif phase == BUSY:
            self._expire_busy()
        else:
            self._refuse(self._parser.receiving, RequestRefused(408, "Request Timeout"))

    def _expire_busy(self) -> None:
        request = self._current
        if self._can_write:
            # Only the body of a streamed request has a deadline while its handler runs.
            if request is not None and request.body is not None:
                request.body.fail(RequestRefused(408, "Request Timeout"))
            self.deadline = NEVER
            return
        unsent = self._transport.get_write_buffer_size()
        if unsent >= self._unsent:
            self._transport.abort()
        self._unsent = unsent
        self.deadline = self._sweeper.now + self._limits.write_timeout_s

    def flush(self) -> None:
        """Write the answers that were held back."""
        if self._unwritten:
            unwritten, self._unwritten = self._unwritten, b""
            self._transport.write(unwritten)

    def begin_drain(self) -> None:
        """Close now if idle; otherwise the answer in progress will be the last."""
        if self._current is None and not self.busy:
            self._close()

    def end_stream(self) -> None:
        """Bring an open stream to its proper end."""
        if self._stream is not None:
            self._keep = False
            self._stream.end()
            self._cancel_handler()

    def abort(self) -> None:
        self._cancel_handler()
        self._transport.abort()

    def _cancel_handler(self) -> None:
        task, answer = self._task, self._answer
        if task is not None:
            task.cancel()
            if isinstance(answer, Coroutine):
                # A task that is cancelled before its first step never gets to await the answer.
                task.add_done_callback(lambda _: answer.close())

    # called through Request, Body and Stream

    def open_stream(self, request: Request, status: int, headers: RawHeaders) -> Stream:
        self._start(request)
        if not request.http11:
            self._keep = False
        framing = b"Transfer-Encoding: chunked\r\n" if request.http11 else b""
        head = self._head(request, status, headers, framing)
        self._stream = Stream(self, self._transport, chunked=request.http11, muted=request.method == "HEAD")
        if self._phase == CLOSING:
            self._stream.lost()
        else:
            self._write(head)
        if self._server.draining:
            self._server.changed()
        return self._stream

    def hand_over(self, request: Request, headers: RawHeaders) -> Upgraded:
        if not request.upgradable:
            raise RequestRefused(400, "Bad Request: the client did not request an upgrade")
        self._start(request)
        if self._phase == CLOSING:
            raise ConnectionClosed("the client has disconnected")
        self._write(self._head(request, 101, headers, b""))
        server = self._server
        server.connections.discard(self)
        self._sweeper.members.discard(self)
        # From here on this protocol gets no more calls from the transport.
        self._phase = CLOSING
        upgraded = Upgraded(self._transport, self._buffer, self._parser.take_held())
        server.adopt(upgraded)
        return upgraded

    def body_wanted(self) -> None:
        request = self._current
        if request is not None and request.expects_continue:
            request.expects_continue = False
            if not self._started and self._phase == BUSY:
                self._write(_CONTINUE)

    def body_drained(self) -> None:
        self._control_reading()

    def stream_ended(self) -> None:
        self._stream = None
        if self._task is None:
            self._finish()

    async def wait_writable(self) -> None:
        while True:
            if self._phase == CLOSING:
                raise ConnectionClosed("the client has disconnected")
            if self._can_write:
                return
            waiter = asyncio.get_running_loop().create_future()
            self._writers.append(waiter)
            await waiter

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, []
        for waiter in writers:
            if not waiter.done():
                waiter.set_result(None)

    # the cycle of requests and responses

    def _advance(self) -> None:
        """Answer what is ready, as far as it can be answered now."""
        if self._advancing or self._phase >= LINGER:
            return
        self._advancing = True
        parser = self._parser
        ready = parser.ready
        # A peer that sends but does not read is not answered further.
        while self._current is None and ready and self._can_write and self._phase < LINGER:
            self._handle(ready.popleft())
            parser.advance()
        self._advancing = False
        if self._phase >= LINGER:
            return
        if self._current is None and not ready:
            if parser.idle and not self._paused:
                # The common case: everything received is answered.
                self._phase = IDLE
                self.deadline = self._sweeper.now + self._limits.idle_timeout_s
                return
            if parser.refused is not None:
                self._refuse(*parser.refused)
                return
            if parser.expecting is not None:
                parser.expecting = None
                self._write(_CONTINUE)
        self._control_reading()
        self._set_deadline()

    def _set_deadline(self) -> None:
        parser = self._parser
        limits = self._limits
        phase = self._phase
        if self._current is not None:
            self._phase = BUSY
            body = self._current.body
            if body is not None and not body.complete and not self._paused and not self._started:
                self.deadline = self._sweeper.now + limits.body_timeout_s
            elif self._can_write or self._stream is not None:
                self.deadline = NEVER
        elif parser.mid_body:
            if phase != BODY:
                self._phase = BODY
                self.deadline = self._sweeper.now + limits.body_timeout_s
        elif parser.mid_head:
            if phase != HEAD:
                self._phase = HEAD
                self.deadline = self._sweeper.now + limits.header_timeout_s
        else:
            self._phase = IDLE
            self.deadline = self._sweeper.now + limits.idle_timeout_s

    def _control_reading(self) -> None:
        parser = self._parser
        receiving = parser.receiving
        pause = parser.blocked or (
            receiving is not None and receiving.body is not None and receiving.body.size > HIGH_WATER_BYTES
        )
        if pause is not self._paused and self._phase != CLOSING:
            self._paused = pause
            if pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _handle(self, request: Request) -> None:
        self._current = request
        self._phase = BUSY
        try:
            answer = self._handler(request)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises becomes an answer
            self._failed(request, error)
            return
        if isinstance(answer, Response):
            self._respond(request, answer)
        elif answer is None:
            self._check_answered(request)
        else:
            self._answer = answer
            self._task = self._server.scope.start(self._run(request, answer))

    async def _run(self, request: Request, answer: Awaitable[Response | None]) -> None:
        """The rest of an exchange whose handler did not answer at once."""
        try:
            response = await answer
        except asyncio.CancelledError:
            self._task = None
            if self._current is request and self._stream is None and not self._keep and self._started:
                self._finish()
            elif self._phase != CLOSING:
                self._transport.abort()
            raise
        except Exception as error:  # noqa: BLE001 - whatever a handler raises becomes an answer
            self._task = None
            self._failed(request, error)
            return
        self._task = None
        if response is not None:
            self._respond(request, response)
        else:
            self._check_answered(request)

    def _check_answered(self, request: Request) -> None:
        """A handler is through without a Response: then it must have started one itself."""
        if self._current is not request:
            return
        if not self._started:
            self._failed(request, RuntimeError(f"the handler of {request!r} did not answer"))
        elif self._stream is None:
            self._finish()

    def _failed(self, request: Request, error: Exception) -> None:
        if self._phase == CLOSING and isinstance(error, ConnectionClosed | WebSocketClosed):
            # The peer went away in the middle; that is no one's error.
            self._transport.abort()
            return
        response = self._server.answer_for(request, error)
        if self._started:
            # Half an answer is out; only a broken connection tells the peer that it is not the whole.
            self._transport.abort()
        else:
            self._respond(request, response)

    def _finish(self) -> None:
        """The response is written and its handler done: on to the next request, or the end."""
        request = self._current
        self._current = None
        self._started = False
        if self._phase == CLOSING:
            return
        # A drain may have begun after the header promised to keep the connection.
        if self._keep and not self._server.draining:
            if request is not None and request.upgradable:
                self._parser.resume()
            if not self._advancing:
                self._parser.advance()
                self._advance()
        elif request is not None and request.body is not None and not request.body.complete:
            self._linger()
        else:
            self._close()

    # writing

    def _start(self, request: Request) -> None:
        if self._current is not request or self._started:
            raise RuntimeError(f"{request!r} has already been answered")
        self._started = True
        self._keep = (
            request.keep_alive
            and not self._server.draining
            and (request.body is None or request.body.complete)
        )

    def _head(self, request: Request, status: int, headers: RawHeaders, framing: bytes) -> bytes:
        """The head of the response just started; one that cannot be written was not started."""
        framing += self._sweeper.date
        if status == 101:
            pass
        elif not self._keep:
            framing += _CLOSE
        elif not request.http11:
            framing += _KEEP_ALIVE_10
        try:
            return encode_head(status_line(status), headers, framing)
        except ValueError:
            self._started = False
            raise

    def _respond(self, request: Request, response: Response) -> None:
        if self._phase == CLOSING:
            self._current = None
            return
        if self._current is not request or self._started:
            # There is no place left for this answer; the connection cannot be trusted any more.
            self._server.answer_for(request, RuntimeError(f"{request!r} was answered twice"))
            self._transport.abort()
            return
        self._start(request)
        status = response.status
        body = response.body
        headers = response.headers
        size = _size(body)
        compress = size >= self._limits.gzip_min_bytes and _compressible(request, response)
        if compress:
            headers = (*headers, (b"Content-Encoding", b"gzip"), (b"Vary", b"Accept-Encoding"))
            framing = b"Transfer-Encoding: chunked\r\n"
        elif status == 204 or status == 304:
            framing = b""
            size = 0
        else:
            framing = b"Content-Length: %d\r\n" % size
        try:
            head = self._head(request, status, headers, framing)
        except ValueError as error:
            self._respond(request, self._server.answer_for(request, error))
            return
        if compress:
            self._task = self._server.scope.start(self._send_compressed(head, body))
        elif not size or request.method == "HEAD":
            self._write_soon(head)
            self._finish()
        elif size <= _JOIN_BYTES:
            self._write_soon(head + body if isinstance(body, bytes) else b"".join((head, *body)))
            self._finish()
        else:
            self._write(head)
            self._pump = batches(body)
            self._run_pump()

    def _write(self, data: bytes) -> None:
        self.flush()
        self._transport.write(data)

    def _write_soon(self, data: bytes) -> None:
        """Write with the answers of this turn; those of pipelined requests become one write."""
        if not self._unwritten:
            self._unwritten = data
            self._outbox.add(self)
            return
        self._unwritten += data
        if len(self._unwritten) > _JOIN_BYTES:
            # Whether the peer takes them shows only when they are written.
            self.flush()

    def _run_pump(self) -> None:
        """Write a large body as far as the peer takes it."""
        pump = self._pump
        write = self._transport.write
        while self._can_write and pump is not None:
            part = next(pump, None)
            if part is None:
                self._pump = None
                self._finish()
                return
            write(part)

    async def _send_compressed(self, head: bytes, body: Content) -> None:
        """A large body through gzip, part by part in a thread: 20 MB would hold the loop for 0.2 s."""
        loop = asyncio.get_running_loop()
        self._write(head)
        compressor = deflater()
        for part in batches(body):
            data = await loop.run_in_executor(None, compressor.compress, part)
            if data:
                self._transport.writelines((b"%x\r\n" % len(data), data, b"\r\n"))
                await self.wait_writable()
        data = compressor.flush()
        self._transport.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))
        self._task = None
        self._finish()

    def _refuse(self, request: Request | None, error: RequestRefused) -> None:
        """Answer a request that never got to a handler, then let go of the peer."""
        try:
            response = self._server.answer_for(request, error)
            body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
            framing = b"Content-Length: %d\r\n" % len(body) + self._sweeper.date + _CLOSE
            head = encode_head(status_line(response.status), response.headers, framing)
        except ValueError:
            self._transport.abort()
            return
        no_body = request is not None and request.method == "HEAD"
        self._write(head if no_body else head + body)
        self._linger()

    def _linger(self) -> None:
        """Closing with input unread would reset the connection, and the peer would lose the answer."""
        self.flush()
        self._phase = LINGER
        self.deadline = self._sweeper.now + self._limits.linger_s
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _close(self) -> None:
        self.flush()
        self._phase = CLOSING
        self.deadline = self._sweeper.now + self._limits.write_timeout_s
        self._transport.close()


def _size(body: Content) -> int:
    if isinstance(body, bytes):
        return len(body)
    return body.size if isinstance(body, Joined) else sum(map(len, body))


def _compressible(request: Request, response: Response) -> bool:
    return (
        response.compressible
        and request.http11
        and request.method != "HEAD"
        and response.status not in (204, 206, 304)
        and accepts_gzip(request.headers)
        and not any(name.lower() == b"content-encoding" for name, _ in response.headers)
    )
