"""RFC 6455 frames as bytes: written by `encode`, read by `Frames`.

Sans-IO and the same for both ends; only masking differs by role. `Frames` also puts fragments
together, so its reader sees whole messages and control frames in the order they came.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from steersman.http.errors import FrameError

__all__ = ["Close", "Frames", "Message", "Opcode", "check_close_code", "encode", "encode_close", "mask"]

#: Payloads from this size on are masked by tables.
_LARGE = 8192


class Opcode(IntEnum):
    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


class Close(IntEnum):
    """The close codes this package sends or reports itself."""

    NORMAL = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    NO_STATUS = 1005
    ABNORMAL = 1006
    INVALID_DATA = 1007
    TOO_BIG = 1009


@dataclass(frozen=True, slots=True)
class Message:
    """A whole data message or one control frame."""

    opcode: Opcode
    payload: bytes


def mask(payload: bytes, key: bytes) -> bytes:
    """XOR with the repeated key: as one big integer, or each of the key's bytes by its table.

    The first is 50 times faster than byte by byte, but its cost grows faster than the size: from `_LARGE`
    bytes on the second is faster, three times at 64 KiB.
    """
    size = len(payload)
    if size >= _LARGE:
        masked = bytearray(size)
        for place, byte in enumerate(key):
            masked[place::4] = payload[place::4].translate(_tables()[byte])
        return bytes(masked)
    pad = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(pad, "little")).to_bytes(size, "little")


@cache
def _tables() -> tuple[bytes, ...]:
    """For each byte, what every byte becomes by XOR with it."""
    return tuple(bytes(value ^ byte for value in range(256)) for byte in range(256))


def encode(opcode: Opcode, payload: bytes, *, masked: bool) -> bytes:
    """One unfragmented frame."""
    size = len(payload)
    flag = 0x80 if masked else 0
    first = 0x80 | opcode
    if size < 126:
        head = struct.pack("!BB", first, flag | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", first, flag | 126, size)
    else:
        head = struct.pack("!BBQ", first, flag | 127, size)
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + mask(payload, key)


def encode_close(code: int, reason: str, *, masked: bool) -> bytes:
    if code == Close.NO_STATUS:
        return encode(Opcode.CLOSE, b"", masked=masked)
    # A control frame holds 125 bytes; cutting may split a character, which the peer must not see.
    text = reason.encode()[:123].decode(errors="ignore").encode()
    return encode(Opcode.CLOSE, struct.pack("!H", code) + text, masked=masked)


def check_close_code(code: int) -> bool:
    """Whether a peer may send this code (RFC 6455 section 7.4 and the IANA registry)."""
    return (1000 <= code <= 1014 and code not in (1004, 1005, 1006)) or 3000 <= code <= 4999


class Frames:
    """Bytes in, messages out. Any violation raises `FrameError` with the close code to answer."""

    __slots__ = ("_buffer", "_fragments", "_max_bytes", "_opcode", "_size", "_wants_mask")

    def __init__(self, *, wants_mask: bool, max_message_bytes: int) -> None:
        self._wants_mask = wants_mask
        self._max_bytes = max_message_bytes
        self._buffer = bytearray()
        # A fragmented message being received: its kind, its parts and their size.
        self._opcode: Opcode | None = None
        self._fragments: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take `data`; iterate over the result to the end before feeding again."""
        self._buffer += data
        while (frame := self._next_frame()) is not None:
            final, opcode, payload = frame
            if opcode >= Opcode.CLOSE:
                yield Message(opcode, payload)
            elif (message := self._assemble(final, opcode, payload)) is not None:
                yield message

    def _next_frame(self) -> tuple[bool, Opcode, bytes] | None:
        """Cut one frame off the buffer; None if it is not all there."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        opcode = self._check_head(first, second)
        size = second & 0x7F
        start = 2
        if size >= 126:
            width = 2 if size == 126 else 8
            start += width
            if len(buffer) < start:
                return None
            size = int.from_bytes(buffer[2:start], "big")
            if size < (126 if width == 2 else 1 << 16) or size >> 63:
                raise FrameError(Close.PROTOCOL_ERROR, "frame length is not minimal")
        if self._size + size > self._max_bytes and opcode < Opcode.CLOSE:
            raise FrameError(Close.TOO_BIG, f"message is larger than {self._max_bytes} bytes")
        masked = second & 0x80
        end = start + size + (4 if masked else 0)
        if len(buffer) < end:
            return None
        if masked:
            payload = mask(bytes(buffer[start + 4 : end]), bytes(buffer[start : start + 4]))
        else:
            payload = bytes(buffer[start:end])
        del buffer[:end]
        return bool(first & 0x80), opcode, payload

    def _check_head(self, first: int, second: int) -> Opcode:
        if first & 0x70:
            raise FrameError(Close.PROTOCOL_ERROR, "reserved bits are set")
        try:
            opcode = Opcode(first & 0x0F)
        except ValueError:
            raise FrameError(Close.PROTOCOL_ERROR, "unknown opcode") from None
        if bool(second & 0x80) != self._wants_mask:
            raise FrameError(Close.PROTOCOL_ERROR, "frame is masked by the wrong side")
        if opcode >= Opcode.CLOSE:
            if not first & 0x80:
                raise FrameError(Close.PROTOCOL_ERROR, "fragmented control frame")
            if second & 0x7F > 125:
                raise FrameError(Close.PROTOCOL_ERROR, "control frame is too long")
        elif (opcode is Opcode.CONTINUATION) != (self._opcode is not None):
            raise FrameError(Close.PROTOCOL_ERROR, "fragments out of order")
        return opcode

    def _assemble(self, final: bool, opcode: Opcode, payload: bytes) -> Message | None:
        if opcode is not Opcode.CONTINUATION:
            if final:
                return Message(opcode, payload)
            self._opcode = opcode
        self._fragments.append(payload)
        self._size += len(payload)
        if not final or self._opcode is None:
            return None
        message = Message(self._opcode, b"".join(self._fragments))
        self._opcode = None
        self._fragments = []
        self._size = 0
        return message
