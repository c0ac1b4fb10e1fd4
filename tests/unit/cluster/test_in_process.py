"""Requests within the process: as over the network, without it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.cluster.in_process import InProcess
from steersman.http import Client, Handler, Joined, Request, Response
from steersman.http.body import HIGH_WATER_BYTES
from steersman.http.errors import ConnectFailed, ConnectionClosed, Disconnected, TimedOut
from steersman.http.response import plain_text


def no_socket() -> Client:
    raise AssertionError("nothing here needs a socket")


def on_error(request: Request | None, error: Exception) -> Response:
    return plain_text(500, f"{type(error).__name__}: {error}")


def use(handler: Handler, act: Callable[[InProcess], Awaitable[Any]], **fields: str) -> Any:
    given = [(name.encode(), value.encode()) for name, value in fields.items()]

    async def main() -> Any:
        transport = InProcess(handler, on_error, no_socket, given)
        async with asyncio.timeout(20):
            try:
                return await act(transport)
            finally:
                await transport.close()

    return asyncio.run(main())


def echo(request: Request) -> Response:
    said = f"{request.method} {request.path} {request.query_string} {sorted(request.headers)}"
    return Response(200, said.encode() + request.content, ((b"X-Answer", b"yes"),))


async def later(request: Request) -> Response:
    await asyncio.sleep(0)
    return echo(request)


@pytest.mark.parametrize("handler", [echo, later], ids=["at once", "later"])
def test_a_request_is_seen_as_it_was_sent(handler: Handler) -> None:
    async def act(transport: InProcess) -> None:
        answer = await transport.request("POST", "/a%20b?c=d", headers=[(b"X-B", b"1")], content=b"!")
        assert answer.status == 200
        assert answer.content == b"POST /a b c=d [('agent', 'me'), ('x-b', '1')]!"
        assert answer.headers.get("x-answer") == "yes"

    use(handler, act, Agent="me")


def test_what_a_request_says_itself_replaces_what_is_usual() -> None:
    async def act(transport: InProcess) -> None:
        answer = await transport.request("GET", "/", headers=[(b"agent", b"you")])
        assert answer.content == b"GET /  [('agent', 'you')]"

    use(echo, act, Agent="me")


@pytest.mark.parametrize(
    "body", [b"abc", [b"a", b"b", b"c"], Joined(b"a", [b"b"], b",", b"c")], ids=["bytes", "pieces", "joined"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_bodies_of_every_form_arrive(body: Any, method: str) -> None:
    async def act(transport: InProcess) -> None:
        expected = b"abc" if method == "GET" else b""
        assert (await transport.request(method, "/")).content == expected
        async with transport.stream(method, "/") as answer:
            assert await answer.read() == expected

    use(lambda request: Response(200, body), act)


def test_what_a_handler_raises_is_answered() -> None:
    def fails(request: Request) -> Response:
        raise RuntimeError("oops")

    async def act(transport: InProcess) -> None:
        assert (await transport.request("GET", "/")).content == b"RuntimeError: oops\n"
        async with transport.stream("GET", "/") as answer:
            assert (answer.status, await answer.read()) == (500, b"RuntimeError: oops\n")

    use(fails, act)


def test_a_body_that_is_too_large_is_refused() -> None:
    async def act(transport: InProcess) -> None:
        answer = await transport.request("POST", "/", content=b"x" * (3 << 20))
        assert answer.status == 200
        answer = await transport.request("POST", "/", content=b"x" * ((3 << 20) + 1))
        assert answer.content.startswith(b"BodyTooLarge")

    use(echo, act)


def test_asking_in_a_loop_lets_others_run() -> None:
    async def act(transport: InProcess) -> None:
        ran = 0

        async def other() -> None:
            nonlocal ran
            while True:
                ran += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        for _ in range(10):
            await transport.request("GET", "/")
        task.cancel()
        assert ran >= 9

    use(echo, act)


class Ticker:
    """Streams `pieces`, then waits for the client to go; says what happened."""

    def __init__(self, *pieces: bytes, ends: bool = False) -> None:
        self.pieces = pieces
        self.ends = ends
        self.written = 0
        self.events: list[str] = []

    async def __call__(self, request: Request) -> None:
        stream = request.stream(200, [(b"Content-Type", b"text/plain")])
        stream.on_close(lambda: self.events.append("closed"))
        try:
            for piece in self.pieces:
                stream.write(piece)
                self.written += 1
                await stream.drain()
            if self.ends:
                stream.end()
                return
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.events.append("cancelled")
            raise
        except ConnectionClosed:
            self.events.append("gone")
            raise


def test_a_stream_comes_as_it_is_written() -> None:
    ticker = Ticker(b"a\nb", b"\nc\n", ends=True)

    async def act(transport: InProcess) -> None:
        async with transport.stream("GET", "/") as answer:
            assert (answer.status, answer.headers.get("content-type")) == (200, "text/plain")
            assert [line async for line in answer.lines()] == [b"a", b"b", b"c"]

    use(ticker, act)
    assert ticker.events == ["closed"]


def test_a_stream_can_be_collected() -> None:
    big = b"x" * (HIGH_WATER_BYTES * 2)

    async def act(transport: InProcess) -> None:
        assert len((await transport.request("GET", "/")).content) == 3 * len(big)

    use(Ticker(big, big, big, ends=True), act)


def test_a_slow_reader_slows_the_handler_down() -> None:
    ticker = Ticker(*[b"x" * HIGH_WATER_BYTES] * 10, ends=True)

    async def act(transport: InProcess) -> None:
        async with transport.stream("GET", "/") as answer:
            chunks = answer.chunks()
            for _ in range(20):
                await asyncio.sleep(0)
            assert ticker.written == 2
            assert len(await anext(chunks)) == HIGH_WATER_BYTES
            for _ in range(20):
                await asyncio.sleep(0)
            assert ticker.written == 3
            assert len(await answer.read()) == HIGH_WATER_BYTES * 9

    use(ticker, act)


@pytest.mark.parametrize("stuck", [False, True], ids=["waiting", "writing"])
def test_leaving_ends_the_handler_before_anything_else_happens(stuck: bool) -> None:
    ticker = Ticker(*[b"x" * HIGH_WATER_BYTES] * (10 if stuck else 1))

    async def act(transport: InProcess) -> None:
        async with transport.stream("GET", "/") as answer:
            await anext(answer.chunks())
        assert ticker.events == ["closed", "cancelled"]

    use(ticker, act)


def test_cancelling_a_request_cancels_its_handler() -> None:
    entered = asyncio.Event()
    ended: list[str] = []

    async def waits(request: Request) -> Response:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("yes")
        raise AssertionError

    async def act(transport: InProcess) -> None:
        task = asyncio.create_task(transport.request("GET", "/"))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["yes"]

    use(waits, act)


async def never(request: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError


def test_an_answer_that_does_not_come_in_time_is_an_error() -> None:
    async def act(transport: InProcess) -> None:
        with pytest.raises(TimedOut, match=r"no answer within 0\.01 s"):
            await transport.request("GET", "/", timeout_s=0.01)
        with pytest.raises(TimedOut, match=r"no answer within 0\.01 s"):
            async with transport.stream("GET", "/", timeout_s=0.01):
                raise AssertionError

    use(never, act)


def test_a_silent_stream_is_given_up() -> None:
    async def act(transport: InProcess) -> None:
        async with transport.stream("GET", "/", read_timeout_s=0.02) as answer:
            lines = answer.lines()
            assert await anext(lines) == b"one"
            with pytest.raises(TimedOut, match=r"the server sent nothing for 0\.02 s"):
                await anext(lines)

    use(Ticker(b"one\n"), act)


def test_a_stream_that_fails_breaks_off() -> None:
    async def fails(request: Request) -> None:
        stream = request.stream(200, ())
        stream.write(b"half")
        await stream.drain()
        raise RuntimeError("oops")

    async def aborts(request: Request) -> None:
        stream = request.stream(200, ())
        stream.write(b"half")
        stream.abort()

    async def act(transport: InProcess) -> None:
        async with transport.stream("GET", "/") as answer:
            chunks = answer.chunks()
            assert await anext(chunks) == b"half"
            with pytest.raises(Disconnected):
                await anext(chunks)
        with pytest.raises(Disconnected):
            await transport.request("GET", "/")

    use(fails, act)
    use(aborts, act)


def test_closing_ends_streams_properly_and_refuses_what_comes_later() -> None:
    async def one_line(request: Request) -> None:
        gone = asyncio.Event()
        stream = request.stream(200, ())
        stream.on_close(gone.set)
        stream.write(b"one\n")
        await gone.wait()

    async def act(transport: InProcess) -> None:
        async with transport.stream("GET", "/") as answer:
            lines = answer.lines()
            assert await anext(lines) == b"one"
            await transport.close()
            assert [line async for line in lines] == []
        with pytest.raises(ConnectFailed):
            await transport.request("GET", "/")
        with pytest.raises(ConnectFailed):
            await transport.websocket("/")

    use(one_line, act)


def test_closing_lets_requests_in_flight_have_their_answer() -> None:
    release = asyncio.Event()

    async def slow(request: Request) -> Response:
        await release.wait()
        return Response(200, b"done")

    async def act(transport: InProcess) -> None:
        asking = asyncio.create_task(transport.request("GET", "/"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        closing = asyncio.create_task(transport.close())
        await asyncio.sleep(0)
        release.set()
        assert (await asking).content == b"done"
        await closing

    use(slow, act)


def test_an_upgrade_is_refused() -> None:
    async def upgrades(request: Request) -> Response:
        request.upgrade(())
        raise AssertionError

    async def act(transport: InProcess) -> None:
        assert b"cannot be upgraded" in (await transport.request("GET", "/")).content

    use(upgrades, act)
