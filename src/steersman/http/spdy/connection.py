"""A SPDY/3.1 connection on asyncio, either end: streams to read from and write to.

It runs over a `Link`: an upgraded HTTP connection, or a WebSocket whose messages carry it. A reader that does
not keep up slows its sender down: by the stream's window where the peer keeps it, else by not reading the
connection.

    async with SpdyConnection(link, server=True) as connection:
        while (stream := await connection.accept()) is not None: …
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Protocol, Self

from steersman.aio import Scope
from steersman.http.errors import ConnectionClosed, WebSocketClosed
from steersman.http.spdy.errors import SpdyClosed, SpdyViolation, StreamReset
from steersman.http.spdy.frames import ResetStatus
from steersman.http.spdy.session import (
    STREAM_WINDOW_BYTES,
    DataCame,
    Ended,
    Event,
    Opened,
    Replied,
    SpdySession,
    WasReset,
    WindowGrew,
)
from steersman.http.websocket import WebSocket

__all__ = ["Link", "SpdyConnection", "SpdyStream", "WebSocketLink"]

_FRAME_BYTES: Final = 32 << 10
#: How long a peer gets to hang up after it was told that we will.
_LINGER_S: Final = 2.0
_REPLY_TIMEOUT_S: Final = 30.0


class Link(Protocol):
    """Bytes both ways; `Upgraded` is one."""

    async def read(self) -> bytes:
        """What came, b"" at the end."""
        ...

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...


class WebSocketLink:
    """The messages of a WebSocket as a stream of bytes."""

    __slots__ = ("_socket",)

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        try:
            while True:
                message = await self._socket.receive()
                if isinstance(message, bytes) and message:
                    return message
        except WebSocketClosed:
            return b""

    def write(self, data: bytes) -> None:
        self._socket.write(data)

    async def drain(self) -> None:
        await self._socket.drain()

    def close(self) -> None:
        self._socket.hang_up()


class SpdyStream:
    """One stream. Whoever reads it reads alone, and so does whoever writes."""

    __slots__ = (
        "_chunks",
        "_connection",
        "_error",
        "_waiter",
        "buffered",
        "ended_here",
        "ended_there",
        "headers",
        "id",
        "replied",
    )

    def __init__(self, connection: SpdyConnection, number: int, headers: Mapping[str, str]) -> None:
        self._connection = connection
        self.id = number
        self.headers = headers
        """Names are in lower case."""
        self.buffered = 0
        self.replied = False
        self._chunks: deque[bytes] = deque()
        self.ended_here = self.ended_there = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    def accept(self) -> None:
        """Take a stream that the peer opened."""
        self._connection._accepted(self)

    async def read(self) -> bytes:
        """What came, at least one byte; b"" when the peer has finished.

        Raises `StreamReset` and `SpdyClosed`.
        """
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self.ended_there:
                return b""
            await self._wait()
        data = b"".join(self._chunks)
        self._chunks.clear()
        self.buffered = 0
        self._connection._consumed(self, len(data))
        return data

    async def write(self, data: bytes) -> None:
        """Send; waits while the peer does not keep up. Raises `StreamReset` or `SpdyClosed`."""
        await self._connection._write(self, data)

    def end(self) -> None:
        """Nothing more will be written; the peer may still."""
        self._connection._end(self)

    def reset(self, status: ResetStatus = ResetStatus.CANCEL) -> None:
        """Give the stream up, both ways."""
        self._connection._reset(self, status)

    def check(self) -> None:
        """Raise what ended the stream before its time."""
        if self._error is not None:
            raise self._error

    async def wait_replied(self) -> None:
        while not self.replied:
            self.check()
            await self._wait()

    async def _wait(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("the stream is already being read by another task")
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    # called by the connection

    def feed(self, data: bytes) -> None:
        self._chunks.append(data)
        self.buffered += len(data)
        self.wake()

    def finish(self) -> None:
        self.ended_there = True
        self.wake()

    def fail(self, error: Exception) -> None:
        """What came before the end can still be read."""
        if self._error is None:
            self._error = error
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class SpdyConnection:
    """Streams over a link, for as long as the `async with` lasts."""

    def __init__(self, link: Link, *, server: bool) -> None:
        self._link = link
        self._is_server = server
        self._session = SpdySession(server=server)
        self._streams: dict[int, SpdyStream] = {}
        self._new: deque[SpdyStream] = deque()
        self._changed = asyncio.Event()
        self._scope = Scope()
        self._leaving = False
        self._over = asyncio.Event()
        #: Called for every frame that comes or goes.
        self.on_activity: Callable[[], None] | None = None

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            await self._drop()

    def start(self) -> None:
        """Begin; `async with` does it too."""
        self._flush()
        self._scope.start(self._read(), name="SPDY connection")

    async def close(self) -> None:
        """Send what was written, say goodbye and end."""
        try:
            await self._leave()
        finally:
            await self._drop()

    async def _drop(self) -> None:
        self._link.close()
        await self._scope.close()
        self._end_streams(SpdyClosed("the connection was closed"))

    async def open(self, headers: Mapping[str, str]) -> SpdyStream:
        """A new stream, once the peer has taken it. Raises `StreamReset` if it does not, and `SpdyClosed`."""
        self._check()
        number = self._session.open(headers)
        stream = self._streams[number] = SpdyStream(self, number, headers)
        self._flush()
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_S):
                await stream.wait_replied()
        except TimeoutError:
            stream.reset()
            raise SpdyClosed(f"the peer did not answer within {_REPLY_TIMEOUT_S:g} s") from None
        return stream

    async def accept(self) -> SpdyStream | None:
        """The next stream that the peer opens, to be taken or reset; None when the connection is over."""
        while not self._new:
            if self._over.is_set():
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._new.popleft()

    async def wait_closed(self) -> None:
        """Until the peer is gone."""
        await self._over.wait()

    # reading

    async def _read(self) -> None:
        reason = "the peer has disconnected"
        try:
            while data := await self._link.read():
                self._touch()
                for event in self._session.receive(data):
                    self._dispatch(event)
                self._flush()
                await self._until_read()
        except SpdyViolation as error:
            reason = str(error)
        except ConnectionClosed:
            pass
        self._over.set()
        self._changed.set()
        self._end_streams(SpdyClosed(reason))

    def _dispatch(self, event: Event) -> None:
        if isinstance(event, WindowGrew):
            self._changed.set()
            return
        if isinstance(event, Opened):
            stream = self._streams[event.stream] = SpdyStream(self, event.stream, event.headers)
            self._new.append(stream)
            self._changed.set()
            return
        known = self._streams.get(event.stream)
        if known is None:
            return
        match event:
            case DataCame(_, data):
                if self._leaving:
                    self._session.consumed(event.stream, len(data))
                else:
                    known.feed(data)
            case Ended():
                known.finish()
                self._forget_if_done(known)
            case WasReset(number, status):
                del self._streams[number]
                known.fail(StreamReset(number, status))
                self._changed.set()
            case Replied():
                known.replied = True
                known.wake()

    async def _until_read(self) -> None:
        """Read on when no stream holds more than its window: this is for peers that keep none."""
        while not self._leaving and any(
            stream.buffered > STREAM_WINDOW_BYTES for stream in self._streams.values()
        ):
            self._changed.clear()
            await self._changed.wait()

    def _consumed(self, stream: SpdyStream, size: int) -> None:
        self._session.consumed(stream.id, size)
        self._changed.set()
        self._flush()

    # writing

    def _flush(self) -> None:
        if data := self._session.take():
            self._touch()
            self._link.write(data)

    async def _write(self, stream: SpdyStream, data: bytes) -> None:
        view = memoryview(data)
        while view:
            stream.check()
            self._check()
            room = self._session.sendable(stream.id)
            if not room:
                self._changed.clear()
                await self._changed.wait()
                continue
            size = min(room, _FRAME_BYTES, len(view))
            self._session.send(stream.id, bytes(view[:size]))
            view = view[size:]
            self._flush()
            try:
                await self._link.drain()
            except (ConnectionClosed, WebSocketClosed) as error:
                raise SpdyClosed("the peer has disconnected") from error

    def _accepted(self, stream: SpdyStream) -> None:
        self._session.reply(stream.id)
        self._flush()

    def _end(self, stream: SpdyStream) -> None:
        self._session.end(stream.id)
        self._flush()
        stream.ended_here = True
        self._forget_if_done(stream)

    def _forget_if_done(self, stream: SpdyStream) -> None:
        """What came on it can still be read."""
        if stream.ended_here and stream.ended_there:
            self._streams.pop(stream.id, None)

    def _reset(self, stream: SpdyStream, status: ResetStatus) -> None:
        self._session.reset(stream.id, status)
        self._streams.pop(stream.id, None)
        stream.fail(StreamReset(stream.id, status))
        self._changed.set()
        self._flush()

    # the end

    def _check(self) -> None:
        if self._leaving or self._over.is_set():
            raise SpdyClosed("the connection is closed")

    async def _leave(self) -> None:
        """Say goodbye. A server lets the client hang up: closing with its data unread would cost it ours."""
        self._leaving = True
        self._changed.set()
        self._session.go_away()
        self._flush()
        if not self._is_server:
            return
        try:
            async with asyncio.timeout(_LINGER_S):
                await self._over.wait()
        except TimeoutError:
            pass

    def _end_streams(self, error: SpdyClosed) -> None:
        streams = list(self._streams.values())
        self._streams.clear()
        for stream in streams:
            stream.fail(error)

    def _touch(self) -> None:
        if self.on_activity is not None:
            self.on_activity()
