"""The state of a SPDY/3.1 connection: which streams are open, and how much may be sent on them.

Sans-IO and the same for both roles: bytes go in through `receive`, which tells what happened; what is to be
sent collects until `take`.

Kubernetes' own SPDY has no flow control: it opens no window and looks at none. Windows therefore bind us only
once the peer has shown that it keeps them (SETTINGS or WINDOW_UPDATE); a peer that overruns ours is slowed
down by whoever reads the connection, not refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from steersman.http.spdy.errors import SpdyClosed, SpdyViolation
from steersman.http.spdy.frames import (
    INITIAL_WINDOW_SIZE,
    Data,
    Frame,
    FrameDecoder,
    FrameEncoder,
    GoAway,
    MoreHeaders,
    Ping,
    ResetStatus,
    RstStream,
    Settings,
    SynReply,
    SynStream,
    WindowUpdate,
)

__all__ = [
    "STREAM_WINDOW_BYTES",
    "DataCame",
    "Ended",
    "Event",
    "Opened",
    "Replied",
    "SpdySession",
    "WasReset",
    "WindowGrew",
]

#: What we let a peer send on one stream, and on all of them, before it must wait for us.
STREAM_WINDOW_BYTES: Final = 256 << 10
_CONNECTION_WINDOW_BYTES: Final = 4 << 20
#: What both sides start from (SPDY/3.1).
_DEFAULT_WINDOW_BYTES: Final = 64 << 10
_WHOLE: Final = 0
_UNLIMITED: Final = 1 << 31
#: Streams that a peer may have open at a time.
_MAX_STREAMS: Final = 1024


@dataclass(frozen=True, slots=True)
class Opened:
    """The peer wants a new stream."""

    stream: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Replied:
    """The peer took a stream that was opened here."""

    stream: int


@dataclass(frozen=True, slots=True)
class DataCame:
    stream: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The peer sends nothing more on a stream."""

    stream: int


@dataclass(frozen=True, slots=True)
class WasReset:
    stream: int
    status: int


@dataclass(frozen=True, slots=True)
class WindowGrew:
    """More may be sent: on one stream or, for 0, on all."""

    stream: int


Event = Opened | Replied | DataCame | Ended | WasReset | WindowGrew


class _Stream:
    __slots__ = ("ended_here", "ended_there", "sent", "unread", "window")

    def __init__(self, window: int) -> None:
        #: What the peer lets us send in all, and what was sent.
        self.window = window
        self.sent = 0
        #: What was read here since the peer was last told.
        self.unread = 0
        self.ended_here = self.ended_there = False


class SpdySession:
    """One end of a connection."""

    __slots__ = (
        "_decoder",
        "_encoder",
        "_initial",
        "_is_server",
        "_last_received",
        "_next",
        "_out",
        "_peer_keeps_windows",
        "_streams",
        "_whole",
    )

    def __init__(self, *, server: bool) -> None:
        self._is_server = server
        self._next = 2 if server else 1
        self._last_received = 0
        self._encoder = FrameEncoder()
        self._decoder = FrameDecoder()
        self._streams: dict[int, _Stream] = {}
        self._initial = _DEFAULT_WINDOW_BYTES
        self._whole = _Stream(_DEFAULT_WINDOW_BYTES)
        self._peer_keeps_windows = False
        self._out: list[bytes] = []
        self._put(Settings({INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES}))
        self._put(WindowUpdate(_WHOLE, _CONNECTION_WINDOW_BYTES - _DEFAULT_WINDOW_BYTES))

    def take(self) -> bytes:
        """What is to be sent now."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def _put(self, frame: Frame) -> None:
        self._out.append(self._encoder.encode(frame))

    # what we do

    def open(self, headers: Mapping[str, str]) -> int:
        stream = self._next
        self._next += 2
        self._streams[stream] = _Stream(self._initial)
        self._put(SynStream(stream, headers))
        return stream

    def reply(self, stream: int) -> None:
        """Take a stream that the peer opened; one that is gone already is none to take."""
        if stream in self._streams:
            self._put(SynReply(stream))

    def sendable(self, stream: int) -> int:
        """How many bytes may be sent now."""
        state = self._streams.get(stream)
        if state is None or state.ended_here:
            raise SpdyClosed(f"stream {stream} is closed")
        if not self._peer_keeps_windows:
            return _UNLIMITED
        return max(0, min(state.window - state.sent, self._whole.window - self._whole.sent))

    def send(self, stream: int, data: bytes) -> None:
        """Send what `sendable` allows."""
        if len(data) > self.sendable(stream):
            raise ValueError("more data than the peer's window has room for")
        self._streams[stream].sent += len(data)
        self._whole.sent += len(data)
        self._put(Data(stream, data))

    def end(self, stream: int) -> None:
        """Nothing more will be sent on a stream."""
        state = self._streams.get(stream)
        if state is not None and not state.ended_here:
            state.ended_here = True
            self._put(Data(stream, b"", fin=True))
            self._forget_if_done(stream, state)

    def reset(self, stream: int, status: ResetStatus) -> None:
        if self._streams.pop(stream, None) is not None:
            self._put(RstStream(stream, status))

    def consumed(self, stream: int, size: int) -> None:
        """Data of a stream was read: the peer may send as much again."""
        state = self._streams.get(stream)
        if state is not None and not state.ended_there:
            self._credit(stream, state, size, STREAM_WINDOW_BYTES)
        self._credit(_WHOLE, self._whole, size, _CONNECTION_WINDOW_BYTES)

    def _credit(self, stream: int, state: _Stream, size: int, window: int) -> None:
        state.unread += size
        # Told in halves: not for every read, and before the peer has to wait.
        if state.unread >= window // 2:
            self._put(WindowUpdate(stream, state.unread))
            state.unread = 0

    def go_away(self) -> None:
        self._put(GoAway(self._last_received))

    # what the peer does

    def receive(self, data: bytes) -> Iterator[Event]:
        """Take bytes; iterate over the result to the end. Raises `SpdyViolation`."""
        for frame in self._decoder.feed(data):
            yield from self._take_frame(frame)

    def _take_frame(self, frame: Frame) -> Iterator[Event]:
        match frame:
            case Data(stream, data, fin):
                if data:
                    yield from self._take_data(stream, data)
                if fin:
                    yield from self._peer_ended(stream)
            case SynStream(stream, headers, fin):
                yield from self._peer_opened(stream, headers)
                if fin:
                    yield from self._peer_ended(stream)
            case SynReply(stream, _, fin):
                if stream in self._streams:
                    yield Replied(stream)
                if fin:
                    yield from self._peer_ended(stream)
            case MoreHeaders(stream, _, fin):
                if fin:
                    yield from self._peer_ended(stream)
            case RstStream(stream, status):
                if self._streams.pop(stream, None) is not None:
                    yield WasReset(stream, status)
            case Settings(values):
                yield from self._take_settings(values)
            case WindowUpdate(stream, size):
                yield from self._widen(stream, size)
            case Ping(number):
                if bool(number & 1) == self._is_server:
                    self._put(frame)
            case GoAway():
                # The peer opens nothing more; its streams end, then its connection does.
                pass

    def _peer_opened(self, stream: int, headers: Mapping[str, str]) -> Iterator[Event]:
        if bool(stream & 1) != self._is_server or stream <= self._last_received:
            raise SpdyViolation(f"stream {stream} is not the peer's to open")
        self._last_received = stream
        if len(self._streams) >= _MAX_STREAMS:
            self._put(RstStream(stream, ResetStatus.REFUSED_STREAM))
            return
        self._streams[stream] = _Stream(self._initial)
        yield Opened(stream, headers)

    def _take_data(self, stream: int, data: bytes) -> Iterator[Event]:
        state = self._streams.get(stream)
        if state is None or state.ended_there:
            # It may have been sent before the peer knew that the stream is closed.
            self._credit(_WHOLE, self._whole, len(data), _CONNECTION_WINDOW_BYTES)
            if stream > max(self._last_received, self._next):
                self._put(RstStream(stream, ResetStatus.INVALID_STREAM))
            return
        yield DataCame(stream, data)

    def _peer_ended(self, stream: int) -> Iterator[Event]:
        state = self._streams.get(stream)
        if state is not None and not state.ended_there:
            state.ended_there = True
            self._forget_if_done(stream, state)
            yield Ended(stream)

    def _forget_if_done(self, stream: int, state: _Stream) -> None:
        if state.ended_here and state.ended_there:
            del self._streams[stream]

    def _take_settings(self, values: Mapping[int, int]) -> Iterator[Event]:
        initial = values.get(INITIAL_WINDOW_SIZE)
        if initial is None:
            return
        self._peer_keeps_windows = True
        for state in self._streams.values():
            state.window += initial - self._initial
        self._initial = initial
        yield WindowGrew(_WHOLE)

    def _widen(self, stream: int, size: int) -> Iterator[Event]:
        self._peer_keeps_windows = True
        state = self._whole if stream == _WHOLE else self._streams.get(stream)
        if state is None:
            return
        state.window += size
        if state.window - state.sent > 0x7FFF_FFFF:
            raise SpdyViolation("a window is larger than can be")
        yield WindowGrew(stream)
