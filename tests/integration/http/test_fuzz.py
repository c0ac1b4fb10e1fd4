"""Random bytes against a running server: it always answers or closes, and never breaks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.http import Limits, Request, Response, Server

GOOD = b"GET /good HTTP/1.1\r\nHost: a\r\n\r\n"
SCRAPS = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"POST /s HTTP/1.1\r\n",
        b"Host: a\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Connection: Upgrade\r\nUpgrade: x\r\n",
        b"Connection: close\r\n",
        b"Content-Encoding: gzip\r\n",
        b"\r\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"hello",
    ]
)


def handler(request: Request) -> Response:
    return Response(200, request.path.encode())


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def converse(pieces: list[bytes]) -> bytes:
    """Send the pieces, half-close, and read until the server closes; then see that it still serves."""
    server = Server(handler, limits=Limits(linger_s=0.05), streams_body=lambda request: request.path == "/s")
    await server.start("127.0.0.1", 0)
    answer = b""
    try:
        async with asyncio.timeout(30):
            async with connected(server.port) as (reader, writer):
                with contextlib.suppress(OSError):
                    for piece in pieces:
                        writer.write(piece)
                        await asyncio.sleep(0)
                    writer.write_eof()
                    answer = await reader.read()
            async with connected(server.port) as (reader, writer):
                writer.write(GOOD)
                await reader.readuntil(b"/good")
        return answer
    finally:
        await server.close()
        assert not server.connections


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=40) | SCRAPS, max_size=12))
def test_server_survives_anything(pieces: list[bytes]) -> None:
    logging.disable(logging.CRITICAL)
    try:
        answer = asyncio.run(converse(pieces))
    finally:
        logging.disable(logging.NOTSET)
    assert not answer or answer.startswith(b"HTTP/1.1 ")
    assert b" 500 " not in answer
