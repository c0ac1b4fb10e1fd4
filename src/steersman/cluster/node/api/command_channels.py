"""The channels of exec and attach: standard input and output, terminal size, and exit status, over WebSocket
or SPDY.

`Channels` is the same for both transports. Over a WebSocket every message begins with its channel number;
over SPDY every channel is a stream, opened by the client and typed by its headers.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson

from steersman.cluster.node.streaming import Channel
from steersman.http import WebSocket
from steersman.http.errors import WebSocketClosed
from steersman.http.spdy import SpdyClosed, SpdyConnection, SpdyError, SpdyStream

__all__ = [
    "SPDY_PROTOCOLS",
    "WEBSOCKET_PROTOCOLS",
    "Channels",
    "ClientGone",
    "SpdyChannels",
    "StreamsWanted",
    "WebSocketChannels",
]

_V5: Final = "v5.channel.k8s.io"
#: Those that are told by a Status how a command ended. Older ones get a sentence if it went wrong.
_WITH_STATUS: Final = frozenset({_V5, "v4.channel.k8s.io", "v4.base64.channel.k8s.io"})
WEBSOCKET_PROTOCOLS: Final = (
    _V5, "v4.channel.k8s.io", "v4.base64.channel.k8s.io", "channel.k8s.io", "base64.channel.k8s.io",
)  # fmt: skip
SPDY_PROTOCOLS: Final = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_WITHOUT_RESIZE: Final = frozenset({"v2.channel.k8s.io", "channel.k8s.io"})

_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE, _END = 0, 1, 2, 3, 4, 255
_NUMBERS: Final[Mapping[Channel, int]] = {Channel.STDOUT: _STDOUT, Channel.STDERR: _STDERR}
#: Messages of input that wait for the command; then the client has to.
_INPUT_MESSAGES: Final = 16


class ClientGone(Exception):
    """The client has closed the connection."""


@dataclass(frozen=True, slots=True)
class StreamsWanted:
    """The streams that the client requested."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


class Channels(Protocol):
    """The channels of one exec or attach session."""

    def stdin(self) -> AsyncIterator[bytes]:
        """The client's input until it says that it is over, or is gone."""
        ...

    def sizes(self) -> AsyncIterator[tuple[int, int]]:
        """Columns and rows of the client's terminal, whenever they change."""
        ...

    async def send(self, channel: Channel, data: bytes) -> None:
        """Returns when the client has room for more. Raises `ClientGone`."""
        ...

    async def finish(self, status: Mapping[str, Any]) -> None:
        """Tell how it ended and say goodbye."""
        ...

    async def wait_gone(self) -> None:
        """Until the client has disconnected."""
        ...


def _status_message(protocol: str | None, status: Mapping[str, Any]) -> bytes:
    if protocol in _WITH_STATUS:
        return orjson.dumps(status)
    return b"" if status["status"] == "Success" else str(status["message"]).encode()


def _size(data: bytes) -> tuple[int, int] | None:
    try:
        size = orjson.loads(data)
        return int(size["Width"]), int(size["Height"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


class WebSocketChannels:
    """Channels over a WebSocket. Messages arrive while `run` runs."""

    def __init__(self, socket: WebSocket, wanted: StreamsWanted, touch: Callable[[], None]) -> None:
        self._socket = socket
        self._wanted = wanted
        self._touch = touch
        self._base64 = "base64" in (socket.subprotocol or "")
        self._input: asyncio.Queue[bytes | None] = asyncio.Queue(_INPUT_MESSAGES)
        self._sizes: asyncio.Queue[tuple[int, int]] = asyncio.Queue(1)
        self._gone = asyncio.Event()
        self._input_over = False
        socket.on_close(self._gone.set)

    async def start(self) -> None:
        """An empty message tells the client that it is connected."""
        wanted = self._wanted
        await self._send(_STDOUT if wanted.stdout else _STDERR if wanted.stderr else _STATUS, b"")

    async def run(self) -> None:
        """Receive until the client is gone."""
        try:
            while True:
                message = await self._socket.receive()
                self._touch()
                await self._take(message.encode() if isinstance(message, str) else message)
        except (WebSocketClosed, ClientGone):
            self._gone.set()

    async def _take(self, message: bytes) -> None:
        if not message:
            return
        channel, data = message[0], message[1:]
        if channel == _END and self._socket.subprotocol == _V5:
            await self._end(data)
            return
        if self._base64:
            channel -= ord("0")
            try:
                data = base64.b64decode(data, validate=True)
            except binascii.Error:
                return
        if channel == _STDIN and self._wanted.stdin and data and not self._input_over:
            await self._input.put(data)
        elif channel == _RESIZE and (size := _size(data)) is not None:
            if self._sizes.full():
                # Only the last one counts.
                self._sizes.get_nowait()
            self._sizes.put_nowait(size)

    async def _end(self, which: bytes) -> None:
        if len(which) != 1 or which[0] > _RESIZE:
            self._socket.hang_up(1002, "one channel should follow the end signal")
            raise ClientGone
        if which[0] == _STDIN and not self._input_over:
            self._input_over = True
            await self._input.put(None)

    async def stdin(self) -> AsyncIterator[bytes]:
        while (data := await self._input.get()) is not None:
            yield data

    async def sizes(self) -> AsyncIterator[tuple[int, int]]:
        while True:
            yield await self._sizes.get()

    async def send(self, channel: Channel, data: bytes) -> None:
        wanted = self._wanted.stdout if channel is Channel.STDOUT else self._wanted.stderr
        if wanted:
            await self._send(_NUMBERS[channel], data)

    async def _send(self, channel: int, data: bytes) -> None:
        self._touch()
        try:
            if self._base64:
                await self._socket.send(f"{channel}{base64.b64encode(data).decode()}")
            else:
                await self._socket.send(bytes((channel,)) + data)
        except WebSocketClosed as error:
            raise ClientGone from error

    async def finish(self, status: Mapping[str, Any]) -> None:
        if told := _status_message(self._socket.subprotocol, status):
            await self._send(_STATUS, told)

    async def wait_gone(self) -> None:
        await self._gone.wait()


class SpdyChannels:
    """Channels over SPDY. `open` waits for the client's streams and comes first."""

    def __init__(self, connection: SpdyConnection, protocol: str, wanted: StreamsWanted) -> None:
        self._connection = connection
        self._protocol = protocol
        self._streams: dict[str, SpdyStream] = {}
        kinds = {"stdin": wanted.stdin, "stdout": wanted.stdout, "stderr": wanted.stderr}
        self._expected = {"error", *(kind for kind, is_wanted in kinds.items() if is_wanted)}
        if wanted.tty and protocol not in _WITHOUT_RESIZE:
            self._expected.add("resize")

    async def open(self) -> None:
        """Raises `ClientGone`."""
        while not self._expected <= self._streams.keys():
            stream = await self._connection.accept()
            if stream is None:
                raise ClientGone
            kind = stream.headers.get("streamtype", "")
            if kind in self._streams or kind not in ("error", "stdin", "stdout", "stderr", "resize"):
                stream.reset()
                continue
            self._streams[kind] = stream
            stream.accept()

    async def stdin(self) -> AsyncIterator[bytes]:
        async for data in self._read("stdin"):
            yield data

    async def sizes(self) -> AsyncIterator[tuple[int, int]]:
        buffered = b""
        async for data in self._read("resize"):
            # One object after the other, each in braces and none with braces inside.
            *objects, buffered = (buffered + data).split(b"}")
            for text in objects:
                if (size := _size(text + b"}")) is not None:
                    yield size

    async def _read(self, kind: str) -> AsyncIterator[bytes]:
        stream = self._streams.get(kind)
        if stream is None:
            return
        try:
            while data := await stream.read():
                yield data
        except SpdyError:
            return

    async def send(self, channel: Channel, data: bytes) -> None:
        stream = self._streams.get(channel.value)
        if stream is None:
            return
        try:
            await stream.write(data)
        except SpdyClosed as error:
            raise ClientGone from error
        except SpdyError:
            # The client wants no more of this channel.
            return

    async def finish(self, status: Mapping[str, Any]) -> None:
        if told := _status_message(self._protocol, status):
            try:
                await self._streams["error"].write(told)
            except SpdyError as error:
                raise ClientGone from error
        for stream in self._streams.values():
            stream.end()

    async def wait_gone(self) -> None:
        await self._connection.wait_closed()
