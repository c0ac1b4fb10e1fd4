"""An open WebSocket, either end: messages over an upgraded connection.

Nothing is read unless `receive` is being awaited, so a slow consumer slows the sender down; pings
are answered then. One task receives at a time; any task may send.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable

from steersman.http.errors import ConnectionClosed, FrameError, WebSocketClosed
from steersman.http.upgraded import Upgraded
from steersman.http.websocket.frames import (
    Close,
    Frames,
    Message,
    Opcode,
    check_close_code,
    encode,
    encode_close,
)

__all__ = ["WebSocket"]

_CLOSE_TIMEOUT_S = 5.0


class WebSocket:
    """Whole messages in and out: `str` is text, `bytes` is binary."""

    __slots__ = (
        "_close_sent",
        "_frames",
        "_inbox",
        "_masks",
        "_upgraded",
        "close_code",
        "close_reason",
        "subprotocol",
    )

    def __init__(
        self, upgraded: Upgraded, *, masks: bool, subprotocol: str | None, max_message_bytes: int
    ) -> None:
        self._upgraded = upgraded
        self._masks = masks
        self._frames = Frames(wants_mask=not masks, max_message_bytes=max_message_bytes)
        self._inbox: deque[Message] = deque()
        self._close_sent = False
        self.subprotocol = subprotocol
        self.close_code: int | None = None
        """Why the other side closed, or 1006 if the connection just ended; None while open."""
        self.close_reason = ""

    @property
    def closed(self) -> bool:
        return self.close_code is not None or self._close_sent or self._upgraded.closed

    @property
    def buffered(self) -> int:
        """Bytes sent that the kernel has not taken yet."""
        return self._upgraded.buffered

    async def send(self, message: bytes | str) -> None:
        """Send a message; waits while the peer does not keep up. Raises `WebSocketClosed`."""
        if self.closed:
            raise WebSocketClosed(self.close_code or Close.ABNORMAL, self.close_reason)
        self.write(message)
        await self.drain()

    def write(self, message: bytes | str) -> None:
        """Send without waiting; `drain` tells when to go on. Ignored once the socket is closed."""
        if self.closed:
            return
        if isinstance(message, str):
            frame = encode(Opcode.TEXT, message.encode(), masked=self._masks)
        else:
            frame = encode(Opcode.BINARY, message, masked=self._masks)
        self._upgraded.write(frame)

    async def drain(self) -> None:
        """Wait until the peer has taken enough. Raises `WebSocketClosed` if it is gone."""
        try:
            await self._upgraded.drain()
        except ConnectionClosed as error:
            raise WebSocketClosed(Close.ABNORMAL) from error

    def ping(self, payload: bytes = b"") -> None:
        self._upgraded.write(encode(Opcode.PING, payload, masked=self._masks))

    async def receive(self) -> bytes | str:
        """The next message. Raises `WebSocketClosed` when there will be none."""
        while True:
            while self._inbox:
                received = self._take(self._inbox.popleft())
                if received is not None:
                    return received
            if self.close_code is not None:
                raise WebSocketClosed(self.close_code, self.close_reason)
            await self._fill()

    def __aiter__(self) -> WebSocket:
        return self

    async def __anext__(self) -> bytes | str:
        try:
            return await self.receive()
        except WebSocketClosed:
            raise StopAsyncIteration from None

    async def close(self, code: int = Close.NORMAL, reason: str = "") -> None:
        """Say goodbye, wait a little for the peer to do the same, and drop the connection."""
        self._send_close(code, reason)
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                while self.close_code is None:
                    while self._inbox:
                        self._take(self._inbox.popleft())
                    if self.close_code is None:
                        await self._fill()
        except (TimeoutError, WebSocketClosed):
            self.close_code = self.close_code or Close.ABNORMAL
        finally:
            self._upgraded.close()

    def hang_up(self, code: int = Close.NORMAL, reason: str = "") -> None:
        """Say goodbye without waiting for the peer's."""
        self._send_close(code, reason)
        self._upgraded.close()

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the connection is gone (at once if it is)."""
        self._upgraded.on_close(callback)

    async def _fill(self) -> None:
        """Wait for bytes and cut them into messages; a violation or the end closes the socket."""
        try:
            data = await self._upgraded.read()
        except ConnectionClosed:
            data = b""
        if not data:
            self._ended(Close.ABNORMAL, "")
            return
        try:
            self._inbox.extend(self._frames.feed(data))
        except FrameError as error:
            self._violated(error)

    def _take(self, message: Message) -> bytes | str | None:
        """The message for the caller, or None if it was for the protocol."""
        opcode, payload = message.opcode, message.payload
        if opcode is Opcode.BINARY:
            return payload
        if opcode is Opcode.TEXT:
            try:
                return payload.decode()
            except UnicodeDecodeError:
                self._violated(FrameError(Close.INVALID_DATA, "text is not UTF-8"))
        elif opcode is Opcode.PING:
            if not self._close_sent:
                self._upgraded.write(encode(Opcode.PONG, payload, masked=self._masks))
        elif opcode is Opcode.CLOSE:
            self._peer_closed(payload)
        return None

    def _peer_closed(self, payload: bytes) -> None:
        code: int = Close.NO_STATUS
        reason = ""
        if payload:
            if len(payload) < 2:
                return self._violated(FrameError(Close.PROTOCOL_ERROR, "close frame of one byte"))
            (code,) = struct.unpack("!H", payload[:2])
            if not check_close_code(code):
                return self._violated(FrameError(Close.PROTOCOL_ERROR, "invalid close code"))
            try:
                reason = payload[2:].decode()
            except UnicodeDecodeError:
                return self._violated(FrameError(Close.INVALID_DATA, "close reason is not UTF-8"))
        self._inbox.clear()
        self._send_close(code, "")
        return self._ended(code, reason)

    def _violated(self, error: FrameError) -> None:
        self._send_close(error.code, str(error))
        self._ended(error.code, str(error))

    def _send_close(self, code: int, reason: str) -> None:
        if not self._close_sent:
            self._close_sent = True
            self._upgraded.write(encode_close(code, reason, masked=self._masks))

    def _ended(self, code: int, reason: str) -> None:
        self.close_code = code
        self.close_reason = reason
        self._upgraded.close()
