"""One connection of a client: a request out, its response in, then the next.

The pool makes it, the client sends on it. It never has two exchanges at once (no pipelining), and it
is not used again after anything unexpected.

    state        until
    ---------    ----------------------------------------------------------
    idle         `send`; data or EOF in this state ends the connection
    waiting      the whole response, or for streamed ones its header
    streaming    the end of the body, read through `Body`
    upgraded     for good: the transport has a new protocol
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import cast

import httptools

from steersman.http.body import HIGH_WATER_BYTES, Body
from steersman.http.client.response import ClientResponse, StreamingResponse, decode
from steersman.http.errors import ClientError, Disconnected, ProtocolError, TimedOut
from steersman.http.headers import Headers
from steersman.http.receiving import Receiver, probe_when_silent
from steersman.http.upgraded import Upgraded

__all__ = ["ClientConnection", "Mode"]

_HEAD_LIMIT_BYTES = 1 << 20


class Mode(Enum):
    """What the sender wants back."""

    WHOLE = "the complete response"
    STREAM = "the response as soon as its header is there"
    UPGRADE = "the connection itself after a 101, else the complete response"


Answer = ClientResponse | StreamingResponse | tuple[Headers, Upgraded]


class _EndOfHead(Exception):
    """Stops the parser after the header of an answer to HEAD, which announces a body that never comes."""


class ClientConnection(Receiver):
    """The protocol of one connection to the server."""

    __slots__ = (
        "_body",
        "_chunks",
        "_deadline",
        "_deadline_timer",
        "_delimited",
        "_headers",
        "_limit_s",
        "_looks_at",
        "_loop",
        "_max_bytes",
        "_method",
        "_mode",
        "_on_lost",
        "_parser",
        "_paused",
        "_read_timeout_s",
        "_silent",
        "_size",
        "_skipping",
        "_status",
        "_timer",
        "_transport",
        "_waiter",
        "_whole_headers",
        "answered",
        "idle_since",
        "lost",
        "received_at",
        "reusable",
    )

    _transport: asyncio.Transport
    _whole_headers: Headers

    def __init__(
        self, buffer: memoryview, max_bytes: int, on_lost: Callable[[ClientConnection], None]
    ) -> None:
        super().__init__(buffer)
        self._max_bytes = max_bytes
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[Answer] | None = None
        self._mode = Mode.WHOLE
        self._method = "GET"
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._size = 0
        self._silent = 0
        self._body: Body | None = None
        # A 1xx before the real answer is read past; a body without length lasts until EOF.
        self._skipping = False
        self._delimited = True
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._read_timeout_s: float | None = None
        self._limit_s = 0.0
        self._deadline = 0.0
        self._looks_at = 0.0
        self._deadline_timer: asyncio.TimerHandle | None = None
        self.received_at = 0.0
        self.lost = False
        self.reusable = True
        self.answered = False
        """Whether a byte of the current answer has been received."""
        self.idle_since = 0.0

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        return self.reusable and not self.lost and self._waiter is None and self._body is None

    def send(
        self,
        method: str,
        data: bytes,
        mode: Mode,
        *,
        deadline: float,
        limit_s: float,
        read_timeout_s: float | None = None,
    ) -> asyncio.Future[Answer]:
        """Send a request; the future has its answer, or a `ClientError`.

        It is `TimedOut` at `deadline` (of the loop's clock), which is `limit_s` after it was asked for.
        """
        self._method = method
        self._mode = mode
        self._read_timeout_s = read_timeout_s
        self.answered = False
        self._waiter = waiter = self._loop.create_future()
        self._set_deadline(deadline, limit_s)
        self._transport.write(data)
        return waiter

    def abort(self) -> None:
        self.reusable = False
        if not self.lost:
            self._transport.abort()

    def close(self) -> None:
        self.reusable = False
        if not self.lost:
            self._transport.close()

    def fail(self, error: ClientError) -> None:
        """End the connection with `error` for whoever waits for the current answer."""
        self.reusable = False
        self._cancel_timers()
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        body, self._body = self._body, None
        if body is not None:
            body.fail(error)
        self.abort()

    # called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        probe_when_silent(transport)

    def received(self, data: memoryview) -> None:
        if self._waiter is None and self._body is None:
            # Nothing was asked; a server that speaks now (408, say) is about to close.
            self.abort()
            return
        self.answered = True
        self._silent += len(data)
        if self._read_timeout_s is not None:
            self.received_at = self._loop.time()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgraded(bytes(data[upgrade.args[0] :]))
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _EndOfHead):
                self._parser = httptools.HttpResponseParser(self)
            else:
                cause = error.__context__
                self.fail(
                    cause if isinstance(cause, ProtocolError) else ProtocolError(f"invalid response: {error}")
                )
        else:
            if self._silent > _HEAD_LIMIT_BYTES:
                self.fail(ProtocolError(f"the response header is larger than {_HEAD_LIMIT_BYTES} bytes"))
            self._control_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self.reusable = False
        if not self._delimited and error is None and (self._body is not None or self._chunks):
            self._finish()
        lost = Disconnected("the server closed the connection before the response was complete")
        lost.__cause__ = error
        self.fail(lost)
        self._on_lost(self)

    # called through Body

    def body_wanted(self) -> None:
        pass

    def body_drained(self) -> None:
        self._control_reading()

    def _control_reading(self) -> None:
        pause = self._body is not None and self._body.size > HIGH_WATER_BYTES
        if pause is not self._paused and not self.lost:
            self._paused = pause
            if pause:
                self._transport.pause_reading()
            else:
                self.received_at = self._loop.time()
                self._transport.resume_reading()

    # called by httptools

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._silent = 0
        status = self._status = self._parser.get_status_code()
        headers = Headers(self._headers)
        self._headers = []
        self._skipping = status < 200 and status != 101
        if status == 101 and not self._parser.should_upgrade():
            raise ProtocolError("the server switched protocols without naming one")
        if self._skipping or self._waiter is None:
            return
        self.reusable = self.reusable and self._parser.should_keep_alive()
        self._delimited = (
            status in (204, 304)
            or self._method == "HEAD"
            or "content-length" in headers
            or "transfer-encoding" in headers
        )
        # From here on `_headers` collects trailers, which are dropped with the next response.
        if self._mode is Mode.STREAM and status != 101:
            self._body = Body(self)
            self._resolve(StreamingResponse(status, headers, self._body))
            self._watch_reads()
        else:
            self._whole_headers = headers
        if self._method == "HEAD":
            self._finish()
            raise _EndOfHead

    def on_body(self, data: bytes) -> None:
        self._silent = 0
        if self._body is not None:
            self._body.feed(data)
            return
        self._size += len(data)
        if self._size > self._max_bytes:
            raise ProtocolError(f"the response is larger than {self._max_bytes} bytes")
        self._chunks.append(data)

    def on_message_complete(self) -> None:
        self._silent = 0
        if self._skipping:
            self._skipping = False
        elif self._status != 101:
            self._finish()

    def _finish(self) -> None:
        """The response is complete."""
        self._delimited = True
        self._headers = []
        body, self._body = self._body, None
        if body is not None:
            self._cancel_read_timer()
            body.finish()
            return
        content = b"".join(self._chunks)
        self._chunks = []
        self._size = 0
        try:
            content = decode(self._whole_headers, content, self._max_bytes)
        except ProtocolError as error:
            self.fail(error)
            return
        self._resolve(ClientResponse(self._status, self._whole_headers, content))

    def _upgraded(self, tail: bytes) -> None:
        if self._mode is not Mode.UPGRADE or self._waiter is None:
            self.fail(ProtocolError("the server switched protocols without being asked"))
            return
        self.reusable = False
        self.lost = True
        self._cancel_timers()
        upgraded = Upgraded(self._transport, self._buffer, tail)
        self._resolve((self._whole_headers, upgraded))
        self._on_lost(self)

    def _resolve(self, answer: Answer) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            # Whoever asked has gone; the connection is in the middle of something.
            self.abort()
        else:
            waiter.set_result(answer)

    # the time until the answer

    def _set_deadline(self, deadline: float, limit_s: float) -> None:
        """One timer per connection, set anew only when it fires or is too late, not with every request."""
        self._deadline, self._limit_s = deadline, limit_s
        if self._deadline_timer is not None:
            if self._looks_at <= deadline:
                return
            self._deadline_timer.cancel()
        self._looks_at = deadline
        self._deadline_timer = self._loop.call_at(deadline, self._look)

    def _look(self) -> None:
        self._deadline_timer = None
        if self._waiter is None:
            return
        if self._deadline <= self._looks_at:
            self.fail(TimedOut(f"no answer within {self._limit_s} s"))
        else:
            self._set_deadline(self._deadline, self._limit_s)

    # the time between two reads of a streamed body

    def _watch_reads(self) -> None:
        if self._read_timeout_s is not None:
            self.received_at = self._loop.time()
            self._timer = self._loop.call_later(self._read_timeout_s, self._check_reads)

    def _check_reads(self) -> None:
        """One timer per stream, set anew only when it fires, not with every chunk."""
        self._timer = None
        if self._body is None or self._read_timeout_s is None:
            return
        now = self._loop.time()
        due = (now if self._paused else self.received_at) + self._read_timeout_s
        if due <= now:
            self.fail(TimedOut(f"the server sent nothing for {self._read_timeout_s} s"))
        else:
            self._timer = self._loop.call_later(due - now, self._check_reads)

    def _cancel_read_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cancel_timers(self) -> None:
        self._cancel_read_timer()
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
            self._deadline_timer = None
