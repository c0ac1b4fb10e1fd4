"""The endpoint `/portForward`: connections to ports of a pod, over SPDY (plain or in a WebSocket) or
WebSocket channels.

A SPDY connection carries any number of them: each is a pair of streams with the same request ID, one for data
and one for errors. A WebSocket without SPDY carries one for each port in the request.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from steersman.aio import Scope
from steersman.cluster.node.api.stream_upgrades import (
    IDLE_TIMEOUT_S,
    STREAMS_TIMEOUT_S,
    Idle,
    upgrade_to_spdy,
    wants_websocket,
)
from steersman.cluster.node.errors import NodeProblem
from steersman.http import Request, WebSocket
from steersman.http.errors import BadRequest, WebSocketClosed
from steersman.http.spdy import Link, SpdyConnection, SpdyError, SpdyStream, WebSocketLink

__all__ = ["ForwardedPod", "parse_ports", "serve_port_forward"]

_SPDY_PROTOCOL: Final = "portforward.k8s.io"
_TUNNEL: Final = f"SPDY/3.1+{_SPDY_PROTOCOL}"
_CHANNELS: Final = ("v4.channel.k8s.io", "v4.base64.channel.k8s.io")
_PART_BYTES: Final = 32 << 10
_INPUT_MESSAGES: Final = 16

Connect = Callable[[int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@dataclass(frozen=True, slots=True)
class ForwardedPod:
    """The pod whose ports are forwarded: its name for messages, and how to connect to it."""

    name: str
    uid: str
    connect: Connect

    def problem(self, port: int, error: Exception) -> bytes:
        return f"error forwarding port {port} to pod {self.name}, uid {self.uid}: {error}".encode()


class _Client(Protocol):
    """The client's side of one forwarded connection."""

    async def read(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...


async def serve_port_forward(
    request: Request,
    pod: ForwardedPod,
    query: Mapping[str, Sequence[str]],
    *,
    idle_timeout_s: float = IDLE_TIMEOUT_S,
) -> None:
    """Take over the connection until the client is gone. Raises `RequestRefused`."""
    idle = Idle(idle_timeout_s)
    if not wants_websocket(request):
        _, upgraded = upgrade_to_spdy(request, (_SPDY_PROTOCOL,))
        await _serve_spdy(upgraded, pod, idle)
        return
    asked = request.headers.get("sec-websocket-protocol") or ""
    if _TUNNEL in (name.strip() for name in asked.split(",")):
        await _serve_spdy(WebSocketLink(await request.websocket((_TUNNEL,))), pod, idle)
        return
    ports = parse_ports(query)
    socket = await request.websocket(_CHANNELS)
    try:
        await _WebSocketForwards(socket, pod, ports, idle).run()
    finally:
        await socket.close()


def parse_ports(query: Mapping[str, Sequence[str]]) -> list[int]:
    """Raises `BadRequest`."""
    given = query.get("port", ())
    if not given:
        raise BadRequest('query parameter "port" is required')
    ports = []
    for text in given:
        if not text:
            raise BadRequest('query parameter "port" cannot be empty')
        for part in text.split(","):
            if not (part.isascii() and part.isdigit() and int(part) < 1 << 16):
                raise BadRequest(f'unable to parse "{text}" as a port: invalid syntax')
            if not int(part):
                raise BadRequest(f'port "{text}" must be > 0')
            ports.append(int(part))
    return ports


async def _carry(client: _Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let bytes pass until the pod has closed; a client that is through may still be answered."""
    try:
        async with Scope() as scope:
            scope.start(_pour(client, writer), name="input of a forwarded connection")
            while data := await reader.read(_PART_BYTES):
                await client.write(data)
    finally:
        writer.close()


async def _pour(client: _Client, writer: asyncio.StreamWriter) -> None:
    while data := await client.read():
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


# SPDY


async def _serve_spdy(link: Link, pod: ForwardedPod, idle: Idle) -> None:
    async with SpdyConnection(link, server=True) as connection:
        connection.on_activity = idle.touch
        async with Scope(on_error=_drop) as scope:
            accepting = scope.start(_accept(connection, pod, scope), name="streams of a client")
            expiring = scope.start(idle.expire(), name="idle connection")
            await asyncio.wait((accepting, expiring), return_when=asyncio.FIRST_COMPLETED)


def _drop(error: BaseException) -> None:
    """A forwarded connection that breaks is the business of its two ends."""
    if not isinstance(error, SpdyError | OSError):
        raise error


class _Pair:
    """The data and error stream of one forwarded connection, as they arrive."""

    def __init__(self) -> None:
        self.data: SpdyStream | None = None
        self.error: SpdyStream | None = None
        self.complete = asyncio.Event()

    def add(self, stream: SpdyStream, kind: str) -> bool:
        """Whether there was a place for it."""
        if (self.data if kind == "data" else self.error) is not None:
            return False
        if kind == "data":
            self.data = stream
        else:
            self.error = stream
        if self.data is not None and self.error is not None:
            self.complete.set()
        return True


async def _accept(connection: SpdyConnection, pod: ForwardedPod, scope: Scope) -> None:
    pairs: dict[str, _Pair] = {}
    while (stream := await connection.accept()) is not None:
        kind = stream.headers.get("streamtype", "")
        port = stream.headers.get("port", "")
        if kind not in ("data", "error") or not _is_port(port):
            stream.reset()
            continue
        number = _request_id(stream, kind)
        pair = pairs.get(number)
        if pair is None:
            pair = pairs[number] = _Pair()
            scope.start(_forward(pair, pod, int(port), partial(pairs.pop, number, None)))
        if pair.add(stream, kind):
            stream.accept()
        else:
            stream.reset()


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16


def _request_id(stream: SpdyStream, kind: str) -> str:
    """Old clients give none: they open the error's stream right before the data's."""
    given = stream.headers.get("requestid")
    return given or str(stream.id if kind == "error" else stream.id - 2)


async def _forward(pair: _Pair, pod: ForwardedPod, port: int, done: Callable[[], object]) -> None:
    try:
        async with asyncio.timeout(STREAMS_TIMEOUT_S):
            await pair.complete.wait()
    except TimeoutError:
        for stream in filter(None, (pair.data, pair.error)):
            stream.reset()
        return
    finally:
        done()
    data, error = pair.data, pair.error
    assert data is not None
    assert error is not None
    try:
        reader, writer = await pod.connect(port)
        await _carry(data, reader, writer)
    except (NodeProblem, OSError) as problem:
        await error.write(pod.problem(port, problem))
        data.reset()
    finally:
        data.end()
        error.end()


# A WebSocket's channels


class _WebSocketForwards:
    """Channels 2n and 2n+1 are data and errors of the n-th port; each begins with the port's number."""

    def __init__(self, socket: WebSocket, pod: ForwardedPod, ports: Sequence[int], idle: Idle) -> None:
        self._socket = socket
        self._pod = pod
        self._ports = ports
        self._idle = idle
        self._base64 = "base64" in (socket.subprotocol or "")
        self._inputs: list[asyncio.Queue[bytes]] = [asyncio.Queue(_INPUT_MESSAGES) for _ in ports]

    async def run(self) -> None:
        async with Scope(on_error=_drop_socket) as scope:
            forwards = [
                scope.start(self._forward(index, port), name=f"forwarded port {port}")
                for index, port in enumerate(self._ports)
            ]
            over = (
                scope.start(self._receive(), name="messages of a client"),
                scope.start(self._idle.expire(), name="idle connection"),
                scope.start(_all(forwards), name="forwarded ports"),
            )
            await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)

    async def _receive(self) -> None:
        async for message in self._socket:
            self._idle.touch()
            data = message.encode() if isinstance(message, str) else message
            if not data:
                continue
            channel, data = data[0], data[1:]
            if self._base64:
                channel -= ord("0")
                try:
                    data = base64.b64decode(data, validate=True)
                except binascii.Error:
                    continue
            if data and channel % 2 == 0 and channel // 2 < len(self._inputs):
                await self._inputs[channel // 2].put(data)

    async def send(self, channel: int, data: bytes) -> None:
        self._idle.touch()
        if self._base64:
            await self._socket.send(f"{chr(ord('0') + channel)}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send(bytes((channel,)) + data)

    async def _forward(self, index: int, port: int) -> None:
        for channel in (2 * index, 2 * index + 1):
            await self.send(channel, port.to_bytes(2, "little"))
        try:
            reader, writer = await self._pod.connect(port)
            await _carry(_SocketChannel(self, 2 * index, self._inputs[index]), reader, writer)
        except (NodeProblem, OSError) as problem:
            await self.send(2 * index + 1, self._pod.problem(port, problem))


async def _all(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)


def _drop_socket(error: BaseException) -> None:
    if not isinstance(error, WebSocketClosed | OSError):
        raise error


@dataclass(frozen=True, slots=True)
class _SocketChannel:
    """One forwarded connection of a WebSocket. This protocol has no half-close."""

    forwards: _WebSocketForwards
    channel: int
    input: asyncio.Queue[bytes]

    async def read(self) -> bytes:
        return await self.input.get()

    async def write(self, data: bytes) -> None:
        await self.forwards.send(self.channel, data)
