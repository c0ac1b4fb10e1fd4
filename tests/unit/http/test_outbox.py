"""Answers leave at the end of the loop's turn, in order, and never pile up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from steersman.http import Limits, Request, Response, Server
from steersman.http.connection import ServerConnection
from steersman.http.outbox import Outbox

GET = b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n"


class Sender:
    def __init__(self, name: int, written: list[int]) -> None:
        self._name = name
        self._written = written

    def flush(self) -> None:
        self._written.append(self._name)


def test_senders_wait_for_the_end_of_the_turn_and_keep_their_order() -> None:
    async def main() -> None:
        written: list[int] = []
        outbox = Outbox()
        for turn in (0, 10):
            for number in range(3):
                outbox.add(Sender(turn + number, written))
                assert len(written) == (3 if turn else 0)
            await asyncio.sleep(0)
        assert written == [0, 1, 2, 10, 11, 12]

    asyncio.run(main())


def test_so_many_senders_wait_no_longer() -> None:
    async def main() -> None:
        written: list[int] = []
        outbox = Outbox()
        for number in range(70):
            outbox.add(Sender(number, written))
        assert written == list(range(64))
        await asyncio.sleep(0)
        assert written == list(range(70))

    asyncio.run(main())


class Wire:
    """A transport that remembers what is done to it."""

    def __init__(self, log: list[tuple[int, str]], number: int) -> None:
        self._log = log
        self._number = number
        self.written = b""
        self.protocol: ServerConnection | None = None
        #: Bytes after which it asks to pause.
        self.room = 1 << 30

    def get_extra_info(self, name: str) -> None:
        return None

    def write(self, data: bytes) -> None:
        self._log.append((self._number, "write"))
        self.written += data
        if len(self.written) > self.room and self.protocol is not None:
            self.protocol.pause_writing()

    def close(self) -> None:
        self._log.append((self._number, "close"))
        self._lose()

    def abort(self) -> None:
        self._lose()

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def _lose(self) -> None:
        if self.protocol is not None:
            protocol, self.protocol = self.protocol, None
            asyncio.get_running_loop().call_soon(protocol.connection_lost, None)


class Served:
    """Connections of one server, their requests fed in by hand."""

    def __init__(self, server: Server) -> None:
        self._server = server
        #: What happened, in order: connection and event.
        self.log: list[tuple[int, str]] = []
        self.wires: list[Wire] = []

    def connect(self) -> Callable[[bytes], None]:
        connection = ServerConnection(self._server)
        wire = Wire(self.log, len(self.wires))
        wire.protocol = connection
        self.wires.append(wire)
        connection.connection_made(cast(asyncio.Transport, wire))
        return lambda data: connection.received(memoryview(data))


def serving(handler: Callable[[Request], Any], test: Callable[[Served], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        server = Server(handler, limits=Limits())
        await server.start("127.0.0.1", 0)
        try:
            await test(Served(server))
        finally:
            await server.close()

    asyncio.run(main())


def echo(request: Request) -> Response:
    return Response(200, request.path.encode())


def test_requests_that_came_together_are_handled_before_the_first_is_answered() -> None:
    handled: list[str] = []

    def handler(request: Request) -> Response:
        handled.append(request.path)
        return echo(request)

    async def test(served: Served) -> None:
        feeds = [served.connect() for _ in range(3)]
        for number, feed in enumerate(feeds):
            feed(GET % b"/%d" % number)
        assert handled == ["/0", "/1", "/2"]
        assert served.log == []
        await asyncio.sleep(0)
        assert served.log == [(0, "write"), (1, "write"), (2, "write")]
        assert [wire.written[-2:] for wire in served.wires] == [b"/0", b"/1", b"/2"]

    serving(handler, test)


def test_pipelined_answers_are_one_write() -> None:
    async def test(served: Served) -> None:
        served.connect()(GET % b"/1" + GET % b"/2" + GET % b"/3")
        await asyncio.sleep(0)
        assert served.log == [(0, "write")]
        assert [part[-2:] for part in served.wires[0].written.split(b"HTTP/1.1 200")[1:]] == [
            b"/1",
            b"/2",
            b"/3",
        ]

    serving(echo, test)


@pytest.mark.parametrize("second", ["stream", "large", "last", "bad"])
def test_whatever_else_is_written_goes_behind_the_answers(second: str) -> None:
    def handler(request: Request) -> Response | None:
        if request.path == "/stream":
            request.stream(200, ()).write(b"streamed")
            return None
        return Response(200, bytes(100_000)) if request.path == "/large" else echo(request)

    async def test(served: Served) -> None:
        more = {"last": b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "bad": b"?\r\n\r\n"}
        served.connect()(GET % b"/first" + more.get(second, GET % b"/%b" % second.encode()))
        await asyncio.sleep(0)
        wire = served.wires[0]
        first, rest = wire.written.index(b"/first"), wire.written.rindex(b"HTTP/1.1 ")
        assert 0 < first < rest
        assert served.log[-1] == ((0, "close") if second == "last" else (0, "write"))

    serving(handler, test)


def test_a_peer_that_takes_nothing_gets_no_more_than_one_buffer_of_answers() -> None:
    handled: list[str] = []

    def handler(request: Request) -> Response:
        handled.append(request.path)
        return Response(200, bytes(30_000))

    async def test(served: Served) -> None:
        feed = served.connect()
        served.wires[0].room = 0
        feed(GET % b"/" * 60)
        assert len(handled) <= 4
        await asyncio.sleep(0)
        assert len(handled) <= 4

    serving(handler, test)


def test_answers_of_a_lost_connection_are_not_written() -> None:
    async def test(served: Served) -> None:
        served.connect()(GET % b"/")
        protocol = served.wires[0].protocol
        assert protocol is not None
        protocol.connection_lost(None)
        served.wires[0].protocol = None
        await asyncio.sleep(0)
        assert served.log == []

    serving(echo, test)
