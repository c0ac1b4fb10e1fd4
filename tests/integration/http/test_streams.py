"""Streamed responses, upgrades, and how a server comes to its end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.http import Request, Response, Stream, Upgraded
from steersman.http.errors import ConnectionClosed
from tests.support.waiting import pass_time

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def test_each_write_is_one_chunk(run: Any, serve: Any) -> None:
    def handler(request: Request) -> None:
        stream = request.stream(200, ((b"Content-Type", b"x"),))
        stream.write(b"one")
        stream.write(b"")
        stream.write(b"2" * 100_000)
        stream.end()
        stream.write(b"ignored")

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            for _ in range(2):
                peer.send(GET)
                _, headers, _ = await peer.response(head_only=True)
                assert headers["transfer-encoding"] == "chunked"
                assert [chunk async for chunk in peer.chunks()] == [b"one", b"2" * 100_000]

    run(main())


def test_http10_stream_ends_with_the_connection(run: Any, serve: Any) -> None:
    def handler(request: Request) -> None:
        stream = request.stream(200, ())
        stream.write(b"abc")
        stream.end()

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            _, headers, _ = await peer.response(head_only=True)
            assert headers["connection"] == "close"
            assert "transfer-encoding" not in headers
            assert await peer.rest() == b"abc"

    run(main())


def test_stream_outlives_its_handler_and_reports_its_end(run: Any, serve: Any) -> None:
    streams: list[Stream] = []
    closed = asyncio.Event()

    def handler(request: Request) -> None:
        stream = request.stream(200, ())
        stream.on_close(closed.set)
        streams.append(stream)

    async def main() -> None:
        async with serve(handler) as served:
            async with served.peer() as peer:
                peer.send(GET)
                await peer.response(head_only=True)
                streams[0].write(b"event")
                assert await anext(peer.chunks()) == b"event"
                assert not closed.is_set()
            await closed.wait()
            assert streams[0].closed
            assert streams[0].buffered == 0
            streams[0].write(b"ignored")
            late = asyncio.Event()
            streams[0].on_close(late.set)
            assert late.is_set()
            with pytest.raises(ConnectionClosed):
                await streams[0].drain()

    run(main())


def test_slow_reader_shows_in_buffered_and_blocks_drain(run: Any, serve: Any, eventually: Any) -> None:
    streams: list[Stream] = []
    done = asyncio.Event()

    async def handler(request: Request) -> None:
        stream = request.stream(200, ())
        streams.append(stream)
        for _ in range(200):
            stream.write(bytes(100_000))
            await stream.drain()
        stream.end()
        done.set()

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(GET)
            await peer.response(head_only=True)
            await eventually(lambda: streams[0].buffered > 0)
            assert streams[0].buffered < 1 << 20
            assert not done.is_set()
            assert sum([len(chunk) async for chunk in peer.chunks()]) == 20_000_000
            await done.wait()

    run(main())


def test_failure_in_mid_stream_breaks_the_connection(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> None:
        request.stream(200, ()).write(b"half")
        raise ValueError("bug")

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(GET)
            await peer.response(head_only=True)
            assert not (await peer.rest()).endswith(b"0\r\n\r\n")

    run(main())


def test_abort_breaks_the_connection(run: Any, serve: Any) -> None:
    def handler(request: Request) -> None:
        stream = request.stream(200, ())
        stream.abort()
        assert stream.closed

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(GET)
            assert not (await peer.rest()).endswith(b"0\r\n\r\n")

    run(main())


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("ended", [False, True], ids=["open stream", "ended stream"])
def test_second_answer_breaks_the_connection(
    run: Any, serve: Any, caplog: pytest.LogCaptureFixture, later: bool, ended: bool
) -> None:
    def twice(request: Request) -> Response:
        stream = request.stream(200, ())
        if ended:
            stream.end()
        return Response(200, b"second answer")

    async def twice_later(request: Request) -> Response:
        return twice(request)

    async def main() -> None:
        async with serve(twice_later if later else twice) as served, served.peer() as peer:
            peer.send(GET)
            assert b"second" not in await peer.rest()

    run(main())
    assert "answered twice" in caplog.text


def test_body_and_response_can_flow_at_the_same_time(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> None:
        stream = request.stream(200, ())
        async for chunk in request.chunks():
            stream.write(chunk.upper())
        stream.end()

    async def main() -> None:
        async with serve(handler, streams_body=lambda request: True) as served, served.peer() as peer:
            peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            await peer.response(head_only=True)
            chunks = peer.chunks()
            for word in (b"ping", b"pong"):
                peer.send(b"4\r\n%b\r\n" % word)
                assert await anext(chunks) == word.upper()
            peer.send(b"0\r\n\r\n")
            assert [chunk async for chunk in chunks] == []

    run(main())


UPGRADE = (
    b"POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n"
)
SWITCH = ((b"Connection", b"Upgrade"), (b"Upgrade", b"SPDY/3.1"))


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_upgrade_hands_the_connection_over(run: Any, serve: Any, later: bool) -> None:
    done = asyncio.Event()

    async def echo(upgraded: Upgraded) -> None:
        while data := await upgraded.read():
            upgraded.write(data.upper())
            await upgraded.drain()
        upgraded.close()
        done.set()

    async def handler(request: Request) -> None:
        if later:
            await pass_time(0.01, "a handler that takes its time")
        await echo(request.upgrade(SWITCH))

    async def main() -> None:
        async with serve(handler) as served:
            async with served.peer() as peer:
                peer.send(UPGRADE + b"early ")
                status, headers, _ = await peer.response(head_only=True)
                assert (status, headers["upgrade"]) == (101, "SPDY/3.1")
                assert await peer.reader.readexactly(6) == b"EARLY "
                peer.send(b"GET / HTTP/1.1\r\n")
                assert await peer.reader.readexactly(16) == b"GET / HTTP/1.1\r\n"
                peer.send(bytes(2_000_000))
                assert await peer.reader.readexactly(2_000_000) == bytes(2_000_000)
            await done.wait()
            assert not served.server.upgraded

    run(main())


def test_upgrade_waits_for_the_answers_before_it(run: Any, serve: Any) -> None:
    gate = asyncio.Event()

    async def handler(request: Request) -> Response | None:
        if request.path == "/":
            await gate.wait()
            return Response(200, b"first")
        upgraded = request.upgrade(SWITCH)
        upgraded.write(await upgraded.read())
        upgraded.close()
        return None

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(GET + UPGRADE + GET)
            gate.set()
            assert (await peer.response())[2] == b"first"
            assert (await peer.response(head_only=True))[0] == 101
            assert await peer.rest() == GET

    run(main())


def test_upgraded_reader_that_waits_slows_the_sender_down(run: Any, serve: Any, eventually: Any) -> None:
    taken: list[Upgraded] = []

    async def main() -> None:
        async with (
            serve(lambda request: taken.append(request.upgrade(SWITCH))) as served,
            served.peer() as peer,
        ):
            peer.send(UPGRADE)
            await peer.response(head_only=True)
            peer.send(bytes(20_000_000))
            await eventually(lambda: taken[0]._paused)
            assert taken[0]._size < 1 << 20
            got = 0
            while got < 20_000_000:
                got += len(await taken[0].read())
            peer.writer.write_eof()
            assert await taken[0].read() == b""
            taken[0].write(b"bye")
            taken[0].close()
            assert await peer.rest() == b"bye"

    run(main())


def test_upgrade_that_was_not_asked_for_is_refused(run: Any, serve: Any) -> None:
    def handler(request: Request) -> None:
        request.upgrade(SWITCH)

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(GET)
            assert (await peer.response())[0] == 400

    run(main())


def test_declined_upgrade_keeps_the_connection(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, request.path.encode())

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(UPGRADE + GET)
            assert (await peer.response())[2] == b"/exec"
            assert (await peer.response())[2] == b"/"

    run(main())


def test_drain_finishes_requests_and_ends_streams(run: Any, serve: Any, eventually: Any) -> None:
    release = asyncio.Event()
    ended = asyncio.Event()

    async def handler(request: Request) -> Response | None:
        if request.path == "/watch":
            stream = request.stream(200, ())
            stream.on_close(ended.set)
            await asyncio.Event().wait()
        await release.wait()
        return Response(200, b"done")

    async def main() -> None:
        async with (
            serve(handler) as served,
            served.peer() as busy,
            served.peer() as watching,
            served.peer() as idle,
        ):
            server = served.server
            busy.send(GET)
            watching.send(b"GET /watch HTTP/1.1\r\nHost: a\r\n\r\n")
            await watching.response(head_only=True)
            await eventually(lambda: sum(connection.busy for connection in server.connections) == 1)
            draining = asyncio.ensure_future(server.drain(10))
            assert await idle.rest() == b""
            assert not ended.is_set()
            release.set()
            _, headers, body = await busy.response()
            assert (headers["connection"], body) == ("close", b"done")
            assert [chunk async for chunk in watching.chunks()] == []
            assert await watching.rest() == b""
            await draining
            assert ended.is_set()
            with pytest.raises(OSError):
                async with served.peer():
                    pass

    run(main())


def test_drain_gives_up_after_its_time_and_close_cuts_off(run: Any, serve: Any) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(GET)
            await started.wait()
            await served.server.drain(0.05)
            assert not cancelled.is_set()
            await served.server.close()
            assert cancelled.is_set()
            assert await peer.rest() == b""

    run(main())


def test_failing_close_callback_does_not_stop_the_connection(run: Any, serve: Any) -> None:
    def handler(request: Request) -> None:
        stream = request.stream(200, ())
        stream.on_close(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            stream.end()

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            for _ in range(2):
                peer.send(GET)
                assert (await peer.response())[0] == 200

    run(main())
