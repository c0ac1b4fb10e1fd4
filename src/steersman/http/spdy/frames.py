"""SPDY/3.1 frames as values and as bytes: written by `FrameEncoder`, read by `FrameDecoder`.

Sans-IO. What frames mean for streams and windows is `session`'s business.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from steersman.http.spdy.errors import SpdyViolation
from steersman.http.spdy.header_blocks import BlockDecoder, BlockEncoder

__all__ = [
    "INITIAL_WINDOW_SIZE",
    "Data",
    "Frame",
    "FrameDecoder",
    "FrameEncoder",
    "GoAway",
    "MoreHeaders",
    "Ping",
    "ResetStatus",
    "RstStream",
    "Settings",
    "SynReply",
    "SynStream",
    "WindowUpdate",
]

_VERSION: Final = 0x8003
_FIN: Final = 0x01
_MASK: Final = 0x7FFF_FFFF
#: The setting that says how much may be sent on a stream before the receiver has read some of it.
INITIAL_WINDOW_SIZE: Final = 7
_MAX_CONTROL_BYTES: Final = 64 << 10
_MAX_DATA_BYTES: Final = 1 << 20
_HEAD: Final = struct.Struct("!II")


class _Type(IntEnum):
    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class ResetStatus(IntEnum):
    PROTOCOL_ERROR = 1
    INVALID_STREAM = 2
    REFUSED_STREAM = 3
    CANCEL = 5
    INTERNAL_ERROR = 6
    FLOW_CONTROL_ERROR = 7


@dataclass(frozen=True, slots=True)
class SynStream:
    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class SynReply:
    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class MoreHeaders:
    """HEADERS: more of them for an open stream."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class RstStream:
    stream: int
    status: int


@dataclass(frozen=True, slots=True)
class Settings:
    values: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Ping:
    number: int


@dataclass(frozen=True, slots=True)
class GoAway:
    last_stream: int
    status: int = 0


@dataclass(frozen=True, slots=True)
class WindowUpdate:
    """Stream 0 is the whole connection."""

    stream: int
    size: int


@dataclass(frozen=True, slots=True)
class Data:
    stream: int
    data: bytes
    fin: bool = False


Frame = SynStream | SynReply | MoreHeaders | RstStream | Settings | Ping | GoAway | WindowUpdate | Data


def _control(kind: _Type, payload: bytes, flags: int = 0) -> bytes:
    return _HEAD.pack(_VERSION << 16 | kind, flags << 24 | len(payload)) + payload


class FrameEncoder:
    """The frames of one direction of a connection, in the order they are sent."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks = BlockEncoder()

    def encode(self, frame: Frame) -> bytes:
        match frame:
            case Data(stream, data, fin):
                return _HEAD.pack(stream, (_FIN << 24 if fin else 0) | len(data)) + data
            case SynStream(stream, headers, fin):
                block = self._blocks.encode(headers)
                return _control(_Type.SYN_STREAM, struct.pack("!IIH", stream, 0, 0) + block, fin)
            case SynReply(stream, headers, fin):
                block = self._blocks.encode(headers)
                return _control(_Type.SYN_REPLY, struct.pack("!I", stream) + block, fin)
            case MoreHeaders(stream, headers, fin):
                block = self._blocks.encode(headers)
                return _control(_Type.HEADERS, struct.pack("!I", stream) + block, fin)
            case RstStream(stream, status):
                return _control(_Type.RST_STREAM, _HEAD.pack(stream, status))
            case Settings(values):
                pairs = b"".join(_HEAD.pack(key, value) for key, value in values.items())
                return _control(_Type.SETTINGS, struct.pack("!I", len(values)) + pairs)
            case Ping(number):
                return _control(_Type.PING, struct.pack("!I", number))
            case GoAway(last_stream, status):
                return _control(_Type.GOAWAY, _HEAD.pack(last_stream, status))
            case WindowUpdate(stream, size):
                return _control(_Type.WINDOW_UPDATE, _HEAD.pack(stream, size))


class FrameDecoder:
    """Bytes in, frames out. Raises `SpdyViolation`, after which nothing more can be understood."""

    __slots__ = ("_blocks", "_buffer")

    def __init__(self) -> None:
        self._blocks = BlockDecoder()
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take `data`; iterate over the result to the end before feeding again."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            first, second = _HEAD.unpack_from(self._buffer)
            size = second & 0xFF_FFFF
            is_control = bool(first >> 31)
            if size > (_MAX_CONTROL_BYTES if is_control else _MAX_DATA_BYTES):
                raise SpdyViolation(f"a frame of {size} bytes is too large")
            end = _HEAD.size + size
            if len(self._buffer) < end:
                return
            payload = bytes(memoryview(self._buffer)[_HEAD.size : end])
            del self._buffer[:end]
            if not is_control:
                yield _data(first, payload, bool(second >> 24 & _FIN))
            elif (frame := self._control(first, payload, second >> 24)) is not None:
                yield frame

    def _control(self, first: int, payload: bytes, flags: int) -> Frame | None:
        if first >> 16 != _VERSION:
            raise SpdyViolation(f"version {first >> 16 & 0x7FFF} of SPDY is not spoken here")
        try:
            return self._parse(first & 0xFFFF, payload, bool(flags & _FIN))
        except struct.error:
            raise SpdyViolation("a control frame is cut off") from None

    def _parse(self, kind: int, payload: bytes, fin: bool) -> Frame | None:
        match kind:
            case _Type.SYN_STREAM:
                stream, _, _ = struct.unpack_from("!IIH", payload)
                return SynStream(_stream(stream), self._blocks.decode(payload[10:]), fin)
            case _Type.SYN_REPLY:
                (stream,) = struct.unpack_from("!I", payload)
                return SynReply(_stream(stream), self._blocks.decode(payload[4:]), fin)
            case _Type.HEADERS:
                (stream,) = struct.unpack_from("!I", payload)
                return MoreHeaders(_stream(stream), self._blocks.decode(payload[4:]), fin)
            case _Type.RST_STREAM:
                stream, status = _HEAD.unpack_from(payload)
                return RstStream(_stream(stream), status)
            case _Type.SETTINGS:
                return _settings(payload)
            case _Type.PING:
                (number,) = struct.unpack_from("!I", payload)
                return Ping(number)
            case _Type.GOAWAY:
                stream, status = _HEAD.unpack_from(payload)
                return GoAway(stream & _MASK, status)
            case _Type.WINDOW_UPDATE:
                stream, size = _HEAD.unpack_from(payload)
                return WindowUpdate(stream & _MASK, size & _MASK)
        # Kinds that are not known are read past.
        return None


def _data(first: int, payload: bytes, fin: bool) -> Data:
    return Data(_stream(first), payload, fin)


def _stream(number: int) -> int:
    number &= _MASK
    if not number:
        raise SpdyViolation("there is no stream 0")
    return number


def _settings(payload: bytes) -> Settings:
    (count,) = struct.unpack_from("!I", payload)
    if len(payload) != 4 + 8 * count:
        raise SpdyViolation("a SETTINGS frame has a wrong length")
    pairs = (struct.unpack_from("!II", payload, 4 + 8 * index) for index in range(count))
    return Settings({key & 0xFF_FFFF: value for key, value in pairs})
