"""Peers that take their time: slow headers, slow bodies, idleness, and not reading."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.http import Limits, Request, Response
from steersman.http.errors import RequestRefused
from tests.support.waiting import pass_time

QUICK_S = 0.1
LONG_S = 60.0


def limits(**quick: float) -> Limits:
    slow = dict.fromkeys(["header_timeout_s", "idle_timeout_s", "body_timeout_s", "write_timeout_s"], LONG_S)
    return Limits(**{**slow, "linger_s": QUICK_S, **quick})


async def drip(peer: Any, data: bytes) -> None:
    """Send a byte now and then until the server has had enough, like a slow-loris."""
    for byte in data * 1000:
        if peer.reader.at_eof() or peer.writer.is_closing():
            return
        peer.send(bytes([byte]))
        await pass_time(0.01, "the pace of a slow client")


@pytest.mark.parametrize(
    "start,dripping",
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nX: ", b"y"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /", b"x"),
    ],
    ids=["says nothing", "drips a header", "drips a second request"],
)
def test_slow_headers_end_in_408(run: Any, serve: Any, start: bytes, dripping: bytes) -> None:
    async def main() -> None:
        async with (
            serve(lambda request: Response(), limits=limits(header_timeout_s=QUICK_S)) as served,
            served.peer() as peer,
        ):
            peer.send(start)
            if b"\r\n\r\n" in start:
                assert (await peer.response())[0] == 200
            dripping_task = asyncio.ensure_future(drip(peer, dripping))
            status, headers, _ = await peer.response()
            assert (status, headers["connection"]) == (408, "close")
            assert await peer.rest() == b""
            dripping_task.cancel()

    run(main())


def test_slow_bodies_end_in_408(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with (
            serve(lambda request: Response(), limits=limits(body_timeout_s=QUICK_S)) as served,
            served.peer() as peer,
        ):
            peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
            dripping = asyncio.ensure_future(drip(peer, b"x"))
            assert (await peer.response())[0] == 408
            dripping.cancel()

    run(main())


def test_streamed_body_that_stops_fails_its_reader(run: Any, serve: Any) -> None:
    errors: list[Exception] = []

    async def handler(request: Request) -> Response:
        try:
            async for _ in request.chunks():
                pass
        except RequestRefused as error:
            errors.append(error)
            raise
        return Response()

    async def main() -> None:
        async with (
            serve(
                handler, limits=limits(body_timeout_s=QUICK_S), streams_body=lambda request: True
            ) as served,
            served.peer() as peer,
        ):
            peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
            assert (await peer.response())[0] == 408
            assert len(errors) == 1

    run(main())


def test_idle_connections_are_closed_without_a_word(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with (
            serve(lambda request: Response(), limits=limits(idle_timeout_s=QUICK_S)) as served,
            served.peer() as peer,
        ):
            peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await peer.response())[0] == 200
            assert await peer.rest() == b""

    run(main())


def test_slow_handlers_are_not_timed_out(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> Response:
        await pass_time(4 * QUICK_S, "a handler that takes longer than the timeouts")
        return Response(200, b"at last")

    async def main() -> None:
        quick = Limits(header_timeout_s=QUICK_S, idle_timeout_s=QUICK_S, body_timeout_s=QUICK_S)
        async with serve(handler, limits=quick) as served, served.peer() as peer:
            peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await peer.response())[2] == b"at last"

    run(main())


def test_reader_that_takes_nothing_is_cut_off(run: Any, serve: Any, eventually: Any) -> None:
    async def main() -> None:
        async with (
            serve(
                lambda request: Response(200, bytes(50_000_000)), limits=limits(write_timeout_s=QUICK_S)
            ) as served,
            served.peer() as peer,
        ):
            peer.writer.transport.pause_reading()
            peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await eventually(lambda: len(served.server.connections) == 1)
            await eventually(lambda: not served.server.connections)

    run(main())


def test_reader_that_takes_something_gets_more_time(run: Any, serve: Any, eventually: Any) -> None:
    async def main() -> None:
        size = 50_000_000
        async with serve(lambda request: Response(200, bytes(size)), limits=limits()) as served:
            async with served.peer() as peer:
                peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                await eventually(lambda: bool(served.server.connections))
                (connection,) = served.server.connections
                await eventually(lambda: not connection._can_write)
                # As if more had been waiting when the deadline was set than is waiting now.
                connection._unsent = connection._transport.get_write_buffer_size() + 1
                connection.expire()
                assert not connection._transport.is_closing()
                connection.expire()
                assert connection._transport.is_closing()

    run(main())


def test_pipelining_peer_that_does_not_read_is_not_answered_further(
    run: Any, serve: Any, eventually: Any
) -> None:
    count = 0

    def handler(request: Request) -> Response:
        nonlocal count
        count += 1
        return Response(200, bytes(50_000))

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.writer.transport.pause_reading()
            peer.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 5000)
            await eventually(lambda: bool(served.server.connections))
            (connection,) = served.server.connections
            await eventually(lambda: connection._paused)
            assert count < 1000
            assert connection._transport.get_write_buffer_size() < 1 << 20

    run(main())
