"""portForward at the node: over SPDY, over SPDY in a WebSocket, and over a WebSocket's channels."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.http import Client
from steersman.http.errors import UpgradeRefused
from steersman.http.spdy import SpdyConnection, SpdyError, SpdyStream, StreamReset, WebSocketLink
from tests.support.streaming_node import StreamingNode

WithNode = Callable[[Callable[[Client, StreamingNode], Any]], None]

TUNNEL, PLAIN, CHANNELS = "SPDY/3.1+portforward.k8s.io", "portforward.k8s.io", "v4.channel.k8s.io"
WHERE = "/portForward/ns/pod"


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """A port that gives back what it gets, and says so when there is no more."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write(b" over")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def connected(client: Client, protocol: str) -> AsyncIterator[SpdyConnection]:
    if protocol == TUNNEL:
        link = WebSocketLink(await client.websocket(WHERE, (TUNNEL,)))
        async with SpdyConnection(link, server=False) as connection:
            yield connection
        return
    asked = [(b"Connection", b"Upgrade"), (b"Upgrade", b"SPDY/3.1")]
    asked.append((b"X-Stream-Protocol-Version", protocol.encode()))
    _, upgraded = await client.upgrade("POST", WHERE, headers=asked)
    async with SpdyConnection(upgraded, server=False) as connection:
        yield connection


async def forwarded(connection: SpdyConnection, port: int, number: str) -> tuple[SpdyStream, SpdyStream]:
    about = {"port": str(port)} | ({"requestID": number} if number else {})
    error = await connection.open({"streamType": "error", **about})
    error.end()
    return await connection.open({"streamType": "data", **about}), error


async def whole(stream: SpdyStream) -> bytes:
    parts = []
    while data := await stream.read():
        parts.append(data)
    return b"".join(parts)


async def exchange(data: SpdyStream, error: SpdyStream, sent: bytes) -> bytes:
    async def send() -> None:
        await data.write(sent)
        data.end()

    sending = asyncio.ensure_future(send())
    got = await whole(data)
    await sending
    assert await whole(error) == b""
    return got


@pytest.mark.parametrize("protocol", [TUNNEL, PLAIN])
@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "old client"])
def test_many_connections_share_one(with_node: WithNode, protocol: str, numbered: bool) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        async with echo() as port, connected(client, protocol) as connection:
            pairs = [await forwarded(connection, port, str(n) if numbered else "") for n in range(5)]
            sent = [os.urandom(200_000) for _ in pairs]
            got = await asyncio.gather(
                *(exchange(*pair, data) for pair, data in zip(pairs, sent, strict=True))
            )
            assert got == [data + b" over" for data in sent]

    with_node(test)


@pytest.mark.parametrize("protocol", [TUNNEL, PLAIN])
def test_a_port_where_nobody_listens_is_told_and_the_next_is_not_harmed(
    with_node: WithNode, protocol: str
) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        async with echo() as port, connected(client, protocol) as connection:
            data, error = await forwarded(connection, 1, "0")
            assert await whole(error) == (
                b"error forwarding port 1 to pod pod, uid some-uid: connect to 127.0.0.1:1: Connection refused"
            )
            with pytest.raises(StreamReset):
                await data.read()
            assert await exchange(*await forwarded(connection, port, "1"), b"x") == b"x over"

    with_node(test)


def test_a_client_that_is_gone_closes_its_connections(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello")
            await reader.read()
            ended.set()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with connected(client, TUNNEL) as connection:
                data, _ = await forwarded(connection, port, "0")
                assert await data.read() == b"hello"
            await ended.wait()

    with_node(test)


def test_clients_that_give_up_leave_nothing_behind(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        async with echo() as port, connected(client, TUNNEL) as connection:
            for number in range(3):
                data, error = await forwarded(connection, port, str(number))
                await data.write(b"x")
                assert await data.read() == b"x"
                data.reset()
                # The other stream is not left open.
                assert await whole(error) == b""

    with_node(test)


@pytest.mark.parametrize(
    "headers",
    [
        {"streamType": "data"},
        {"streamType": "data", "port": "0"},
        {"streamType": "data", "port": "70000"},
        {"streamType": "data", "port": "x"},
        {"port": "80"},
        {"streamType": "other", "port": "80"},
    ],
    ids=["no port", "zero", "too large", "no number", "no type", "unknown type"],
)
def test_streams_that_say_nothing_sensible_are_refused(with_node: WithNode, headers: dict[str, str]) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        async with connected(client, PLAIN) as connection:
            with pytest.raises(SpdyError):
                await connection.open(headers)

    with_node(test)


def test_a_stream_of_a_kind_that_is_there_already_is_refused(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        async with connected(client, PLAIN) as connection:
            await connection.open({"streamType": "error", "port": "1", "requestID": "7"})
            with pytest.raises(StreamReset):
                await connection.open({"streamType": "error", "port": "1", "requestID": "7"})

    with_node(test)


@pytest.mark.parametrize("coded", [False, True], ids=["binary", "base64"])
def test_a_websockets_channels_carry_a_port_each(with_node: WithNode, coded: bool) -> None:
    def encoded(channel: int, data: bytes) -> bytes | str:
        return f"{channel}{base64.b64encode(data).decode()}" if coded else bytes((channel,)) + data

    async def test(client: Client, node: StreamingNode) -> None:
        async with echo() as port:
            protocol = "v4.base64.channel.k8s.io" if coded else CHANNELS
            socket = await client.websocket(f"{WHERE}?port={port},1", (protocol,))
            number, dead = port.to_bytes(2, "little"), (1).to_bytes(2, "little")
            expected = {encoded(0, number), encoded(1, number), encoded(2, dead), encoded(3, dead)}
            refused = b"error forwarding port 1 to pod pod, uid some-uid: connect to 127.0.0.1:1: Connection refused"
            expected.add(encoded(3, refused))
            assert {await socket.receive() for _ in range(5)} == expected
            await socket.send(encoded(0, b"hello"))
            assert await socket.receive() == encoded(0, b"hello")
            await socket.close()

    with_node(test)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", 'query parameter "port" is required'),
        ("?port=", 'query parameter "port" cannot be empty'),
        ("?port=80,x", 'unable to parse "80,x" as a port'),
        ("?port=65536", 'unable to parse "65536" as a port'),
        ("?port=0", 'port "0" must be > 0'),
    ],
)
def test_ports_must_be_ports(with_node: WithNode, query: str, text: str) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        with pytest.raises(UpgradeRefused) as refused:
            await client.websocket(f"{WHERE}{query}", (CHANNELS,))
        assert refused.value.status == 400
        assert refused.value.content.decode().startswith(text)

    with_node(test)


@pytest.mark.parametrize("protocol", [TUNNEL, PLAIN])
def test_a_connection_on_which_nothing_happens_is_ended(with_node: WithNode, protocol: str) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        node.idle_timeout_s = 0.2
        async with connected(client, protocol) as connection:
            await connection.wait_closed()

    with_node(test)
