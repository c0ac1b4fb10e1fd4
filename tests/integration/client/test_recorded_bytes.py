"""The bytes of a real kube-apiserver, played to our client: it reads all of them, however they come in pieces."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.http import Client
from tests.recordings.wire import received, wire_names

PATIENCE_S = 30.0

#: How the bytes come: as they were recorded, at once, and so that nothing is ever whole.
ARRIVALS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "as recorded": lambda pieces: pieces,
    "at once": lambda pieces: [b"".join(pieces)],
    "in threes": lambda pieces: cut(b"".join(pieces), 3),
}


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@asynccontextmanager
async def player(answers: list[list[bytes]]) -> AsyncIterator[str]:
    """A server that gives these answers on its first connection, whatever is asked; its URL."""
    waiting = iter(answers)

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for pieces in waiting:
                await reader.readuntil(b"\r\n\r\n")
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
            await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(play, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def expected(pieces: list[bytes]) -> tuple[int, bytes]:
    """Code and body of an answer, read by means that are not ours."""
    head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    if b"transfer-encoding: chunked" in lines:
        body = b"".join(unchunked(body))
    if b"content-encoding: gzip" in lines:
        body = b"".join(members(body))
    return int(head.split()[1]), body


def unchunked(body: bytes) -> list[bytes]:
    chunks = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        chunks.append(rest[:length])
        body = rest[length + 2 :]
    return chunks


def members(data: bytes) -> list[bytes]:
    found = []
    while data:
        decoder = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        found.append(decoder.decompress(data))
        data = decoder.unused_data
    return found


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("name", wire_names())
def test_every_answer_is_read_to_its_end(name: str, arrival: str) -> None:
    exchanges = received(name)
    answers = [ARRIVALS[arrival](pieces) for _, pieces in exchanges]

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), player(answers) as url, Client(url) as client:
            for request, pieces in exchanges:
                code, body = expected(pieces)
                headers = [(b"accept-encoding", b"gzip")] if "Accept-Encoding" in request else []
                async with client.stream("GET", request.split()[1], headers=headers) as answer:
                    assert answer.status == code
                    assert b"".join([chunk async for chunk in answer.chunks()]) == body

    asyncio.run(run())


@pytest.mark.parametrize("arrival", ARRIVALS)
def test_every_event_of_a_compressed_watch_is_a_line(arrival: str) -> None:
    """A WatchList is compressed flush by flush."""
    [(request, pieces)] = received("watchlist-gzip")
    _, body = expected(pieces)

    async def run() -> list[Any]:
        async with (
            asyncio.timeout(PATIENCE_S),
            player([ARRIVALS[arrival](pieces)]) as url,
            Client(url) as client,
        ):
            headers = [(b"accept-encoding", b"gzip")]
            async with client.stream("GET", request.split()[1], headers=headers) as answer:
                return [json.loads(line) async for line in answer.lines()]

    events = asyncio.run(run())
    assert events == [json.loads(line) for line in body.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds.count("BOOKMARK") >= 1
    assert kinds.index("BOOKMARK") == 330, "all that there is comes before the first bookmark"
    assert [kind for kind in kinds[331:] if kind != "BOOKMARK"] == ["ADDED", "DELETED"]


def test_the_recordings_have_what_they_are_for() -> None:
    """Several members in one answer, and answers that are not compressed although that was asked for."""

    def raw(name: str) -> bytes:
        return b"".join(received(name)[0][1])

    assert raw("watchlist-gzip").count(gzip.compress(b"")[:3]) > 5
    assert gzip.compress(b"")[:3] not in raw("watch-gzip")
