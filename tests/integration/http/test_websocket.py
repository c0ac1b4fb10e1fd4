"""WebSockets against aiohttp in both directions, and against peers that break the rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from steersman.http import Client, Request, WebSocket
from steersman.http.errors import UpgradeRefused, WebSocketClosed
from steersman.http.websocket.frames import Opcode, encode, encode_close


async def echo(request: Request) -> None:
    socket = await request.websocket(["v2", "v1"], max_message_bytes=1 << 20)
    async for message in socket:
        await socket.send(message)


@asynccontextmanager
async def aiohttp_echo() -> AsyncIterator[str]:
    async def handler(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=["v2", "v1"], compress=False, max_msg_size=1 << 22)
        await socket.prepare(request)
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                if message.data == "close":
                    await socket.close(code=4001, message=b"as you wish")
                else:
                    await socket.send_str(message.data)
            elif message.type is aiohttp.WSMsgType.BINARY:
                await socket.ping(b"are you there")
                await socket.send_bytes(message.data)
        return socket

    app = web.Application()
    app.router.add_get("/ws", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


SIZES = [0, 1, 125, 126, 65535, 65536, 1 << 20]


def test_aiohttp_client_talks_to_our_server(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo) as served, aiohttp.ClientSession() as session:
            async with session.ws_connect(f"{served.url}/ws", protocols=["v9", "v1", "v2"]) as socket:
                assert socket.protocol == "v1"
                await socket.send_str("héllo")
                assert await socket.receive_str() == "héllo"
                for size in SIZES:
                    await socket.send_bytes(bytes(size))
                    assert await socket.receive_bytes() == bytes(size)
                await socket.ping(b"x")
                await socket.send_str("after ping")
                assert await socket.receive_str() == "after ping"
                assert await socket.close(code=4000)
                assert socket.close_code == 4000

    run(main())


def test_our_client_talks_to_aiohttp_server(run: Any) -> None:
    async def main() -> None:
        async with aiohttp_echo() as url, Client(url) as client:
            socket = await client.websocket("/ws", ["v2"], max_message_bytes=1 << 22)
            assert socket.subprotocol == "v2"
            await socket.send("héllo")
            assert await socket.receive() == "héllo"
            for size in SIZES:
                await socket.send(bytes(size))
                assert await socket.receive() == bytes(size)
            await socket.send("close")
            with pytest.raises(WebSocketClosed) as caught:
                await socket.receive()
            assert (caught.value.code, caught.value.reason) == (4001, "as you wish")
            with pytest.raises(WebSocketClosed):
                await socket.send("too late")

    run(main())


def test_our_client_closes_properly(run: Any) -> None:
    async def main() -> None:
        async with aiohttp_echo() as url, Client(url) as client:
            socket = await client.websocket("/ws")
            assert socket.subprotocol is None
            await socket.close(1000, "bye")
            assert socket.close_code == 1000
            assert socket.closed

    run(main())


def test_refused_handshake_tells_status_and_reason(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo) as served, Client(served.url) as client:
            with pytest.raises(UpgradeRefused) as caught:
                await client.websocket("/ws", ["v9"])
            assert caught.value.status == 400
            assert b"v9" in caught.value.content
            plain = await client.request("GET", "/ws")
            assert (plain.status, plain.headers.get("upgrade")) == (426, "websocket")

    run(main())


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.mark.parametrize(
    "frames,code",
    [
        (encode(Opcode.TEXT, b"unmasked", masked=False), 1002),
        (encode(Opcode.TEXT, b"\xff\xfe", masked=True), 1007),
        (b"\x82\xff\x00\x00\x00\x00\x00\x20\x00\x00", 1009),
        (encode(Opcode.CLOSE, b"\x03", masked=True), 1002),
        (encode(Opcode.CLOSE, b"\x03\xed", masked=True), 1002),
        (encode(Opcode.CLOSE, b"\x03\xe8\xff", masked=True), 1007),
        (encode_close(1001, "leaving", masked=True), 1001),
        (encode(Opcode.CLOSE, b"", masked=True), None),
    ],
    ids=[
        "unmasked",
        "not UTF-8",
        "too big",
        "close of one byte",
        "reserved close code",
        "reason not UTF-8",
        "close is echoed",
        "close without code",
    ],
)
def test_server_answers_violations_with_a_close_code(
    run: Any, serve: Any, frames: bytes, code: int | None
) -> None:
    async def main() -> None:
        async with serve(echo) as served, served.peer() as peer:
            peer.send(HANDSHAKE + frames)
            await peer.response(head_only=True)
            answer = await peer.rest()
            assert answer[0] == 0x88
            assert answer[2:4] == (b"" if code is None else code.to_bytes(2, "big"))

    run(main())


def test_vanished_peer_is_an_abnormal_close(run: Any, serve: Any) -> None:
    closed: asyncio.Future[tuple[int | None, bool]] = None  # type: ignore[assignment]

    async def handler(request: Request) -> None:
        socket = await request.websocket()
        async for _ in socket:
            pass
        closed.set_result((socket.close_code, socket.closed))

    async def main() -> None:
        nonlocal closed
        closed = asyncio.get_running_loop().create_future()
        async with serve(handler) as served:
            async with served.peer() as peer:
                peer.send(HANDSHAKE)
                await peer.response(head_only=True)
            assert await closed == (1006, True)

    run(main())


def test_sender_waits_for_a_slow_receiver(run: Any, serve: Any, eventually: Any) -> None:
    sockets: list[WebSocket] = []
    done = asyncio.Event()

    async def handler(request: Request) -> None:
        socket = await request.websocket()
        sockets.append(socket)
        for _ in range(40):
            await socket.send(bytes(500_000))
        done.set()
        await socket.close()

    async def main() -> None:
        async with serve(handler) as served, Client(served.url) as client:
            socket = await client.websocket("/")
            await eventually(lambda: bool(sockets) and sockets[0].buffered > 0)
            assert not done.is_set()
            assert sockets[0].buffered < 2 << 20
            assert [len(message) async for message in socket] == [500_000] * 40
            await done.wait()

    run(main())
