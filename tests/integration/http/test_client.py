"""The client against aiohttp's server, our own, and servers that misbehave byte by byte."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import web

from steersman.http import Client, Request, Response, Timeouts
from steersman.http.errors import (
    ClientClosed,
    ConnectFailed,
    Disconnected,
    ProtocolError,
    TimedOut,
    UpgradeRefused,
)

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Awaitable[None]]


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[str]:
    """A server that does what the script says with each connection (numbered from 0)."""
    writers: list[asyncio.StreamWriter] = []
    count = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        number, count = count, count + 1
        writers.append(writer)
        try:
            await script(reader, writer, number)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def read_head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


def always(answer: bytes, *, close: bool = True) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        while True:
            await read_head(reader)
            writer.write(answer)
            await writer.drain()
            if close:
                return

    return script


def test_requests_to_aiohttp(run: Any) -> None:
    async def handler(request: web.Request) -> web.Response:
        body = await request.read()
        text = f"{request.method} {request.path_qs} {request.headers.get('X-A')} {len(body)}"
        return web.Response(text=text, headers={"X-Multi": "1"}, status=201)

    async def compressed(request: web.Request) -> web.Response:
        response = web.Response(body=b"z" * 100_000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async def streamed(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(1000):
            await response.write(b'{"n":%d}\n' % number)
        await response.write(b"unfinished")
        return response

    async def main() -> None:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_get("/gzip", compressed)
        app.router.add_get("/stream", streamed)
        app.router.add_route("*", "/{rest:.*}", handler)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/prefix/"
        async with Client(url, headers=((b"X-A", b"common"),), pool_size=4) as client:
            response = await client.request("POST", "/a?b=c", content=bytes(1_000_000))
            assert (response.status, response.content) == (201, b"POST /prefix/a?b=c common 1000000")
            assert response.headers.get("x-multi") == "1"
            response = await client.request("PUT", "/a", headers=((b"x-a", b"mine"),))
            assert response.content == b"PUT /prefix/a mine 0"
            response = await client.request("HEAD", "/a")
            assert (response.status, response.content) == (201, b"")
            answers = await asyncio.gather(*(client.request("GET", f"/{n}") for n in range(40)))
            assert [a.content for a in answers] == [b"GET /prefix/%d common 0" % n for n in range(40)]
            assert client._pool._count <= 4
        async with Client(url.replace("/prefix/", "")) as client:
            assert (await client.request("GET", "/gzip")).content == b"z" * 100_000
            async with client.stream("GET", "/gzip") as answer:
                assert await answer.read() == b"z" * 100_000
            async with client.stream("GET", "/stream") as answer:
                lines = [line async for line in answer.lines()]
            assert lines == [b'{"n":%d}' % number for number in range(1000)] + [b"unfinished"]
            assert len(client._pool._all) == 1
        await runner.cleanup()

    run(main())


def test_connections_are_reused(run: Any, serve: Any) -> None:
    async def main() -> None:
        async with serve(lambda request: Response(200, b"%d" % request.connection.client[1])) as served:
            async with Client(served.url) as client:
                ports = {(await client.request("GET", "/")).content for _ in range(5)}
                assert len(ports) == 1
                async with client.stream("GET", "/") as answer:
                    ports.add(await answer.read())
                ports.add((await client.request("HEAD", "/")).content or ports.copy().pop())
                ports.add((await client.request("GET", "/")).content)
                assert len(ports) == 1

    run(main())


@pytest.mark.parametrize(
    "answer,expected",
    [
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nold", b"old"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", b""),
    ],
    ids=["until EOF", "HTTP/1.0", "close", "after 100", "after 103", "trailers", "204", "no reason"],
)
def test_every_framing_is_understood(run: Any, answer: bytes, expected: bytes) -> None:
    async def main() -> None:
        async with scripted(always(answer)) as url, Client(url) as client:
            for _ in range(2):
                assert (await client.request("GET", "/")).content == expected
                async with client.stream("GET", "/") as response:
                    assert await response.read() == expected

    run(main())


@pytest.mark.parametrize(
    "answer,error",
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * (2 << 20), ProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"y" * 2000, ProtocolError),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(100_000)),
            ProtocolError,
        ),
        (b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", Disconnected),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", Disconnected),
        (b"HTTP/1.1 200 OK\r\n", Disconnected),
        (b"", Disconnected),
    ],
    ids=[
        "not HTTP",
        "two lengths",
        "broken gzip",
        "endless header",
        "too large",
        "gzip bomb",
        "unasked upgrade",
        "upgrade to nothing",
        "cut body",
        "cut chunks",
        "cut header",
        "nothing",
    ],
)
def test_bad_answers_are_the_right_errors(run: Any, answer: bytes, error: type[Exception]) -> None:
    async def main() -> None:
        async with scripted(always(answer)) as url, Client(url, max_response_bytes=1000) as client:
            with pytest.raises(error):
                await client.request("GET", "/")
            assert client._pool._count == 0

    run(main())


def test_cut_stream_raises_after_what_came(run: Any) -> None:
    async def main() -> None:
        answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"
        async with scripted(always(answer)) as url, Client(url) as client:
            async with client.stream("GET", "/") as response:
                chunks = response.chunks()
                assert await anext(chunks) == b"half"
                with pytest.raises(Disconnected):
                    await anext(chunks)

    run(main())


def closes_kept_connection(log: list[bytes]) -> Script:
    """Answers the first request of its first connection, and closes it when the second comes."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        while True:
            head = await read_head(reader)
            log.append(head.split()[0])
            if number == 0 and len(log) == 2:
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    return script


@pytest.mark.parametrize(
    "method,repeated", [("GET", True), ("DELETE", True), ("POST", False), ("PATCH", False)]
)
def test_stale_connections_are_retried_only_where_safe(run: Any, method: str, repeated: bool) -> None:
    async def main() -> None:
        log: list[bytes] = []
        async with scripted(closes_kept_connection(log)) as url, Client(url) as client:
            await client.request("GET", "/")
            if repeated:
                assert (await client.request(method, "/")).content == b"ok"
            else:
                with pytest.raises(Disconnected):
                    await client.request(method, "/")
            assert log == [b"GET", *[method.encode()] * (2 if repeated else 1)]

    run(main())


def test_stream_on_a_stale_connection_is_retried(run: Any) -> None:
    async def main() -> None:
        log: list[bytes] = []
        async with scripted(closes_kept_connection(log)) as url, Client(url) as client:
            await client.request("GET", "/")
            async with client.stream("GET", "/") as response:
                assert await response.read() == b"ok"
            assert len(log) == 3

    run(main())


def test_failed_fresh_connections_are_not_retried(run: Any) -> None:
    async def main() -> None:
        log: list[int] = []

        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
            await read_head(reader)
            log.append(number)

        async with scripted(script) as url, Client(url) as client:
            with pytest.raises(Disconnected):
                await client.request("GET", "/")
            assert log == [0]

    run(main())


def test_closed_idle_connection_is_not_used(run: Any, serve: Any, eventually: Any) -> None:
    async def main() -> None:
        async with serve(lambda request: Response()) as served, Client(served.url) as client:
            await client.request("POST", "/")
            for connection in list(served.server.connections):
                connection.abort()
            await eventually(lambda: not client._pool._all)
            assert (await client.request("POST", "/")).status == 200

    run(main())


def test_nobody_listening_is_connect_failed(run: Any) -> None:
    async def main() -> None:
        async with scripted(always(b"")) as url:
            pass
        async with Client(url) as client:
            with pytest.raises(ConnectFailed):
                await client.request("GET", "/")
            with pytest.raises(ConnectFailed):
                async with client.stream("GET", "/"):
                    pass

    run(main())


def test_requests_of_one_connection_have_their_own_time_limits(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> Response | None:
        if request.path == "/never":
            await asyncio.Event().wait()
        return Response(200, b"fine")

    async def main() -> None:
        for before, now in ((60.0, 0.05), (0.03, 0.1)):
            async with serve(handler) as served, Client(served.url, pool_size=1) as client:
                assert (await client.request("GET", "/", timeout_s=before)).content == b"fine"
                with pytest.raises(TimedOut, match=f"no answer within {now} s"):
                    await client.request("GET", "/never", timeout_s=now)
                assert (await client.request("GET", "/")).content == b"fine"

    run(main())


def test_time_limits(run: Any, serve: Any) -> None:
    async def never(request: Request) -> Response | None:
        if request.path == "/stream":
            request.stream(200, ()).write(b"first")
            return None
        await asyncio.Event().wait()
        return None

    async def main() -> None:
        async with serve(never) as served, Client(served.url, timeouts=Timeouts(total_s=0.05)) as client:
            with pytest.raises(TimedOut, match=r"0\.05"):
                await client.request("GET", "/")
            with pytest.raises(TimedOut, match=r"0\.02"):
                await client.request("GET", "/", timeout_s=0.02)
            with pytest.raises(TimedOut):
                async with client.stream("GET", "/"):
                    pass
            async with client.stream("GET", "/stream", read_timeout_s=0.05) as response:
                with pytest.raises(TimedOut, match="sent nothing"):
                    await response.read()
        async with serve(never) as served, Client(served.url, pool_size=1) as client:
            waiting = asyncio.ensure_future(client.request("GET", "/"))
            await asyncio.sleep(0)
            with pytest.raises(TimedOut, match="no connection"):
                await client.request("GET", "/", timeout_s=0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            with pytest.raises(TimedOut, match="no answer"):
                await client.request("GET", "/", timeout_s=0.05)

    run(main())


def test_streams_do_not_starve_requests(run: Any, serve: Any) -> None:
    def handler(request: Request) -> Response | None:
        if request.path == "/watch":
            request.stream(200, ())
            return None
        return Response(200, b"ok")

    async def main() -> None:
        async with serve(handler) as served, Client(served.url, pool_size=1) as client:
            async with client.stream("GET", "/watch"), client.stream("GET", "/watch"):
                assert (await client.request("GET", "/")).content == b"ok"
            assert (await client.request("GET", "/")).content == b"ok"

    run(main())


def test_slow_reader_slows_the_server_down(run: Any, serve: Any, eventually: Any) -> None:
    async def main() -> None:
        async with serve(lambda request: Response(200, bytes(20_000_000), compressible=False)) as served:
            async with Client(served.url) as client, client.stream("GET", "/") as response:
                body = response._body
                await eventually(lambda: body.size > 256 << 10)
                (connection,) = served.server.connections
                await eventually(lambda: not connection._can_write)
                assert body.size < 1 << 20
                assert len(await response.read()) == 20_000_000

    run(main())


def test_waiting_requests_get_connections_in_turn(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> Response:
        await asyncio.sleep(0)
        return Response(200, request.path.encode())

    async def main() -> None:
        order: list[bytes] = []
        async with serve(handler) as served, Client(served.url, pool_size=2) as client:

            async def one(number: int) -> None:
                order.append((await client.request("GET", f"/{number}")).content)

            tasks = [asyncio.ensure_future(one(number)) for number in range(20)]
            await asyncio.sleep(0)
            tasks[10].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert len(order) == 19
            assert len(served.server.connections) == 2

    run(main())


def test_upgrade_gives_the_raw_connection(run: Any, serve: Any) -> None:
    async def handler(request: Request) -> Response | None:
        if request.path == "/no":
            return Response(403, b"not you")
        upgraded = request.upgrade(((b"Connection", b"Upgrade"), (b"Upgrade", b"x")))
        upgraded.write(b"hello")
        upgraded.close()
        return None

    async def main() -> None:
        asked = ((b"Connection", b"Upgrade"), (b"Upgrade", b"x"))
        async with serve(handler) as served, Client(served.url) as client:
            headers, upgraded = await client.upgrade("POST", "/yes", headers=asked)
            assert headers.get("upgrade") == "x"
            data = b""
            while part := await upgraded.read():
                data += part
            assert data == b"hello"
            upgraded.close()
            with pytest.raises(UpgradeRefused) as caught:
                await client.upgrade("POST", "/no", headers=asked)
            assert (caught.value.status, caught.value.content) == (403, b"not you")

    run(main())


def test_closing_ends_what_is_in_flight(run: Any, serve: Any) -> None:
    started = asyncio.Event()

    async def handler(request: Request) -> None:
        started.set()
        await asyncio.Event().wait()

    async def main() -> None:
        async with serve(handler) as served:
            client = Client(served.url)
            waiting = asyncio.ensure_future(client.request("GET", "/"))
            await started.wait()
            await client.close()
            with pytest.raises(ClientClosed):
                await waiting
            with pytest.raises(ClientClosed):
                await client.request("GET", "/")

    run(main())


@pytest.mark.parametrize(
    "method,target", [("GET", "/a b"), ("GET", "/a\r\nX: y"), ("GET", "/é"), ("GET X", "/")]
)
def test_requests_cannot_be_split(method: str, target: str) -> None:
    async def main() -> None:
        async with Client("http://127.0.0.1:1") as client:
            with pytest.raises(ValueError, match="not a valid request line"):
                await client.request(method, target)

    asyncio.run(main())
