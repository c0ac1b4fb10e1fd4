"""The server over real sockets: answering, ordering, refusing, letting go."""

from __future__ import annotations

import asyncio
import gc
import gzip
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.http import Client, Limits, Request, RequestRefused, Response, Server, is_served_here

GET = b"GET %b HTTP/1.1\r\nHost: a\r\n%b\r\n"


def get(path: str = "/", *fields: str) -> bytes:
    return GET % (path.encode(), "".join(f"{f}\r\n" for f in fields).encode())


def post(body: bytes, *fields: str) -> bytes:
    lines = "".join(f"{f}\r\n" for f in fields).encode()
    return b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%b\r\n%b" % (len(body), lines, body)


def echo(request: Request) -> Response:
    return Response(200, request.path.encode() + request.content, ((b"Content-Type", b"text/plain"),))


def test_response_has_length_and_date(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo) as served, served.peer() as peer:
            peer.send(get("/a%20b"))
            status, headers, body = await peer.response()
            assert (status, body) == (200, b"/a b")
            assert headers["content-length"] == "4"
            assert headers["content-type"] == "text/plain"
            assert headers["date"].endswith("GMT")
            assert "connection" not in headers

    run(main())


@pytest.mark.parametrize(
    "version,fields,connection",
    [
        ("1.1", "", None),
        ("1.1", "Connection: close\r\n", "close"),
        ("1.0", "", "close"),
        ("1.0", "Connection: keep-alive\r\n", "keep-alive"),
    ],
    ids=["1.1", "1.1 close", "1.0", "1.0 keep-alive"],
)
def test_connection_is_kept_or_closed(
    run: Any, serve: Any, version: str, fields: str, connection: str | None
) -> None:
    async def main() -> None:
        async with serve(echo) as served, served.peer() as peer:
            request = f"GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n".encode()
            peer.send(request)
            _, headers, _ = await peer.response()
            assert headers.get("connection") == connection
            if connection == "close":
                assert await peer.rest() == b""
            else:
                peer.send(request)
                assert (await peer.response())[0] == 200

    run(main())


def test_pipelined_requests_are_answered_in_order(run: Any, serve: Any) -> None:
    gates = [asyncio.Event() for _ in range(3)]

    def handler(request: Request) -> Response | Awaitable[Response]:
        if request.path.startswith("/slow"):
            return slow(request)
        return echo(request)

    async def slow(request: Request) -> Response:
        await gates[int(request.path[-1])].wait()
        return echo(request)

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            paths = ["/1", "/slow0", "/2", "/slow1", "/3"]
            peer.send(b"".join(map(get, paths)))
            gates[1].set()
            assert (await peer.response())[2] == b"/1"
            gates[0].set()
            assert [(await peer.response())[2] for _ in paths[1:]] == [p.encode() for p in paths[1:]]

    run(main())


def test_thousands_of_pipelined_requests_do_not_pile_up(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo) as served, served.peer() as peer:
            count = 5000
            peer.send(get() * count)
            for _ in range(count):
                assert (await peer.response())[0] == 200

    run(main())


def test_head_has_no_body(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo) as served, served.peer() as peer:
            peer.send(b"HEAD /abc HTTP/1.1\r\nHost: a\r\n\r\n" + get("/x"))
            assert (await peer.response(head_only=True))[1]["content-length"] == "4"
            assert (await peer.response())[2] == b"/x"

    run(main())


@pytest.mark.parametrize("status", [204, 304])
def test_bodyless_statuses_have_no_body(run: Any, serve: Any, status: int) -> None:
    async def main() -> None:
        async with serve(lambda request: Response(status, b"ignored")) as served, served.peer() as peer:
            peer.send(get() + get("/", "Connection: close"))
            answer = await peer.rest()
            assert b"ignored" not in answer
            assert answer.count(b"HTTP/1.1 %d" % status) == 2
            assert b"Content-Length" not in answer

    run(main())


def test_bad_request_after_a_good_one_is_answered_in_order_then_closed(run: Any, serve: Any) -> None:
    async def later(request: Request) -> Response:
        await asyncio.sleep(0)
        return echo(request)

    async def main() -> None:
        async with serve(later) as served, served.peer() as peer:
            peer.send(get("/good") + b"BAD\r\n\r\n" + get("/smuggled"))
            assert (await peer.response())[2] == b"/good"
            status, headers, _ = await peer.response()
            assert (status, headers["connection"]) == (400, "close")
            assert await peer.rest() == b""

    run(main())


@pytest.mark.parametrize(
    "error,status,message",
    [
        (RequestRefused(418, "short and stout"), 418, b"short and stout\n"),
        (ValueError("secret"), 500, b"Internal Server Error\n"),
    ],
    ids=["refusal", "bug"],
)
@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_errors_of_handlers_become_answers(
    run: Any,
    serve: Any,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    message: bytes,
    later: bool,
) -> None:
    def fails(request: Request) -> Response:
        raise error

    async def fails_later(request: Request) -> Response:
        raise error

    async def main() -> None:
        async with serve(fails_later if later else fails) as served, served.peer() as peer:
            peer.send(get() + get())
            for _ in range(2):
                got, _, body = await peer.response()
                assert (got, body) == (status, message)

    with caplog.at_level(logging.ERROR):
        run(main())
    assert bool(caplog.records) is (status == 500)


def test_on_error_words_the_answer(run: Any, serve: Any) -> None:
    def on_error(request: Request | None, error: Exception) -> Response | None:
        status = error.status if isinstance(error, RequestRefused) else 500
        return Response(status, b"{%s}" % type(error).__name__.encode())

    async def main() -> None:
        options = {"on_error": on_error, "limits": Limits(body_bytes=10)}
        async with serve(echo, **options) as served, served.peer() as peer:
            peer.send(post(b"x" * 11))
            status, _, body = await peer.response()
            assert (status, body) == (413, b"{BodyTooLarge}")

    run(main())


@pytest.mark.parametrize("kind", ["response", "compressed", "stream"])
def test_header_injection_by_a_handler_is_its_error(run: Any, serve: Any, kind: str) -> None:
    evil = ((b"X", b"a\r\nSet-Cookie: evil"),)

    def handler(request: Request) -> Response | None:
        if kind == "stream":
            request.stream(200, evil)
            return None
        return Response(200, b"x" * (200_000 if kind == "compressed" else 1), evil)

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(get("/", "Accept-Encoding: gzip"))
            status, headers, _ = await peer.response()
            assert status == 500
            assert "set-cookie" not in headers

    run(main())


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_handler_that_does_not_answer_is_an_error(run: Any, serve: Any, later: bool) -> None:
    async def nothing_later(request: Request) -> None:
        return None

    async def main() -> None:
        handler = nothing_later if later else (lambda request: None)
        async with serve(handler) as served, served.peer() as peer:
            peer.send(get())
            assert (await peer.response())[0] == 500

    run(main())


def test_disconnect_cancels_the_handler(run: Any, serve: Any) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Response()

    async def main() -> None:
        async with serve(handler) as served:
            async with served.peer() as peer:
                peer.send(get())
                await started.wait()
            await cancelled.wait()

    run(main())


def test_handler_of_a_lost_connection_need_not_even_start(run: Any, serve: Any) -> None:
    started: list[Request] = []

    async def late(request: Request) -> Response:
        started.append(request)
        return Response()

    def handler(request: Request) -> Awaitable[Response]:
        (connection,) = server.connections
        connection._transport.abort()
        return late(request)

    async def main() -> None:
        nonlocal server
        async with serve(handler) as served, served.peer() as peer:
            server = served.server
            peer.send(get())
            assert await peer.rest() == b""
        gc.collect()

    server: Any = None
    run(main())
    assert not started


def test_refused_body_is_answered_without_being_read(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo, limits=Limits(body_bytes=1000)) as served, served.peer() as peer:
            peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 2_000_000)
            status, headers, body = await peer.response()
            assert (status, headers["connection"]) == (413, "close")
            assert body == b"Request entity too large: limit is 1000\n"

    run(main())


@pytest.mark.parametrize(
    "fields,length,expected",
    [
        (("Expect: 100-continue",), 5, [100, 200]),
        (("Expect: 100-Continue",), 5, [100, 200]),
        (("Expect: 100-continue",), 5000, [413]),
        (("Expect: tea",), 5, [417]),
    ],
    ids=["accepted", "any case", "too large", "other expectation"],
)
def test_expectations(
    run: Any, serve: Any, fields: tuple[str, ...], length: int, expected: list[int]
) -> None:
    async def main() -> None:
        async with serve(echo, limits=Limits(body_bytes=1000)) as served, served.peer() as peer:
            head = "".join(f"{f}\r\n" for f in fields)
            peer.send(f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{head}\r\n".encode())
            statuses = [(await peer.response(head_only=True))[0]]
            if statuses == [100]:
                peer.send(b"x" * length)
                status, _, body = await peer.response()
                assert body == b"/xxxxx"
                statuses.append(status)
            assert statuses == expected

    run(main())


def test_continue_waits_for_the_answers_before_it(run: Any, serve: Any) -> None:
    gate = asyncio.Event()

    async def handler(request: Request) -> Response:
        if request.path == "/slow":
            await gate.wait()
        return echo(request)

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(
                get("/slow")
                + b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"
            )
            gate.set()
            assert (await peer.response())[2] == b"/slow"
            assert (await peer.response(head_only=True))[0] == 100
            peer.send(b"!")
            assert (await peer.response())[2] == b"/!"

    run(main())


def test_streaming_handler_gets_100_only_when_it_reads(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> Response:
        if request.path == "/refuse":
            return Response(403, b"no")
        return Response(200, b"".join([chunk async for chunk in request.chunks()]))

    async def main() -> None:
        async with serve(handler, streams_body=lambda request: True) as served:
            head = b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
            async with served.peer() as peer:
                peer.send(head % b"/read")
                assert (await peer.response(head_only=True))[0] == 100
                peer.send(b"abc")
                assert (await peer.response())[2] == b"abc"
                peer.send(head % b"/refuse")
                status, headers, _ = await peer.response()
                assert (status, headers["connection"]) == (403, "close")

    run(main())


@pytest.mark.parametrize(
    "fields,size,compressed",
    [
        (("Accept-Encoding: gzip",), 1000, True),
        (("Accept-Encoding: gzip;q=0",), 1000, False),
        ((), 1000, False),
        (("Accept-Encoding: gzip",), 999, False),
        (("Accept-Encoding: gzip", "X-Plain: 1"), 1000, False),
    ],
    ids=["accepted", "refused", "not asked", "small", "not compressible"],
)
def test_large_responses_are_compressed_on_request(
    run: Any, serve: Any, fields: tuple[str, ...], size: int, compressed: bool
) -> None:
    def handler(request: Request) -> Response:
        return Response(200, [b"x" * (size - 1), b"y"], compressible="x-plain" not in request.headers)

    async def main() -> None:
        async with serve(handler, limits=Limits(gzip_min_bytes=1000)) as served, served.peer() as peer:
            for _ in range(2):
                peer.send(get("/", *fields))
                _, headers, body = await peer.response()
                assert ("content-encoding" in headers) is compressed
                assert (gzip.decompress(body) if compressed else body) == b"x" * (size - 1) + b"y"

    run(main())


def test_gzip_request_bodies_are_decompressed(run: Any, serve: Any) -> None:
    async def streaming(request: Request) -> Response:
        return Response(200, b"".join([chunk async for chunk in request.chunks()]))

    async def main() -> None:
        packed = gzip.compress(b"hello" * 1000)
        async with serve(streaming, streams_body=lambda request: True) as served, served.peer() as peer:
            peer.send(post(packed, "Content-Encoding: gzip"))
            assert (await peer.response())[2] == b"hello" * 1000
            peer.send(post(b"not gzip", "Content-Encoding: gzip"))
            assert (await peer.response())[0] == 400

    run(main())


@pytest.mark.parametrize(
    "pieces", [[b"x" * 20_000_000], [b"y" * 1000] * 20_000], ids=["one piece", "many pieces"]
)
def test_slow_reader_of_a_large_body_costs_little_memory(
    run: Any, serve: Any, eventually: Callable[..., Any], pieces: list[bytes]
) -> None:
    body = pieces[0] if len(pieces) == 1 else pieces

    async def main() -> None:
        async with serve(lambda request: Response(200, body)) as served, served.peer() as peer:
            peer.send(get())
            await peer.reader.readuntil(b"\r\n\r\n")
            (connection,) = served.server.connections
            await eventually(lambda: not connection._can_write)
            assert connection._transport.get_write_buffer_size() < 1 << 20
            assert await peer.reader.readexactly(20_000_000) == b"".join(pieces)
            peer.send(get())
            assert (await peer.response(head_only=True))[0] == 200

    run(main())


def test_slow_handler_slows_the_upload_down(run: Any, serve: Any, eventually: Callable[..., Any]) -> None:
    gate = asyncio.Event()
    sizes: list[int] = []

    async def handler(request: Request) -> Response:
        await gate.wait()
        assert request.body is not None
        sizes.append(request.body.size)
        return Response(200, b"%d" % sum([len(chunk) async for chunk in request.chunks()]))

    async def main() -> None:
        async with serve(handler, streams_body=lambda request: True) as served, served.peer() as peer:
            size = 20_000_000
            peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
            peer.send(bytes(size))
            await eventually(
                lambda: bool(served.server.connections) and next(iter(served.server.connections))._paused
            )
            gate.set()
            assert (await peer.response())[2] == b"%d" % size
        assert sizes[0] < 1 << 20

    run(main())


def test_connections_over_the_limit_get_503(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo, limits=Limits(connections=1)) as served, served.peer() as first:
            first.send(get())
            await first.response()
            async with served.peer() as second:
                assert (await second.response())[0] == 503
                assert await second.rest() == b""
            first.send(get())
            assert (await first.response())[0] == 200

    run(main())


def test_connection_facts_are_the_same_object_for_all_requests(run: Any, serve: Any) -> None:
    def handler(request: Request) -> Response:
        state = request.connection.state
        state["count"] = state.get("count", 0) + 1
        assert not request.connection.secure
        assert request.connection.peer_certificate is None
        assert request.connection.client[0] == "127.0.0.1"
        return Response(200, b"%d" % state["count"])

    async def main() -> None:
        async with serve(handler) as served, served.peer() as peer:
            peer.send(get() + get())
            assert [(await peer.response())[2] for _ in range(2)] == [b"1", b"2"]

    run(main())


def test_taken_port_is_an_error_that_leaves_nothing_behind(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo) as served:
            other = Server(echo)
            with pytest.raises(OSError, match="in use"):
                await other.start("127.0.0.1", served.port)
            await other.close()

    run(main())


def test_one_server_listens_on_several_addresses(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(echo) as served:
            await served.server.start("127.0.0.1", 0)
            ports = [sock.getsockname()[1] for sock in served.server.sockets]
            assert len(set(ports)) == 2
            assert served.port == ports[0]
            for port in ports:
                async with Client(f"http://127.0.0.1:{port}") as client:
                    assert (await client.request("GET", "/x")).content == b"/x"

    run(main())


def test_vanished_peers_are_probed_for(run: Any, serve: Any, eventually: Callable[..., Any]) -> None:
    async def main() -> None:
        async with serve(echo) as served, served.peer():
            await eventually(lambda: bool(served.server.connections))
            (connection,) = served.server.connections
            sock = connection._transport.get_extra_info("socket")
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

    run(main())


def test_a_process_knows_what_it_serves_itself(run: Any) -> None:
    async def main() -> None:
        server = Server(echo)
        await server.start("127.0.0.1", 0)
        assert is_served_here("127.0.0.1", server.port)
        assert not is_served_here("127.0.0.2", server.port)
        await server.drain(1)
        assert not is_served_here("127.0.0.1", server.port)
        await server.close()

    run(main())
