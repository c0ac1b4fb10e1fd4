"""Logs, commands and ports of pods, against a server written from the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
import uvloop

from steersman.client import Client, CommandFailed, ForwardingFailed, NotFound, Output
from steersman.http import Client as Http
from steersman.http import Request, Response, Server, WebSocket

DEADLINE_S = 30
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"

Serve = Callable[[WebSocket], Awaitable[None]]


class Kubelet:
    """The server's side of the pods' subresources: `serve` plays the container."""

    def __init__(self, serve: Serve, protocols: tuple[str, ...]) -> None:
        self._serve = serve
        self._protocols = protocols
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    async def __call__(self, request: Request) -> Response | None:
        self.asked.append((request.path, parse_qs(request.query_string)))
        if "missing" in request.path:
            status = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no such pod"}
            return Response(404, orjson.dumps(status))
        socket = await request.websocket(self._protocols)
        await self._serve(socket)
        await socket.close()
        return None


def against(
    serve: Serve, act: Callable[[Client], Awaitable[Any]], protocols: tuple[str, ...] = (V5, V4)
) -> list[tuple[str, dict[str, list[str]]]]:
    kubelet = Kubelet(serve, protocols)

    async def main() -> None:
        server = Server(kubelet)
        await server.start("127.0.0.1", 0)
        try:
            async with (
                asyncio.timeout(DEADLINE_S),
                Client(Http(f"http://127.0.0.1:{server.port}"), namespace="mine") as client,
            ):
                await act(client)
        finally:
            await server.close()

    uvloop.run(main())
    return kubelet.asked


def ended(code: int) -> bytes:
    if code == 0:
        return b"\x03" + orjson.dumps({"status": "Success"})
    causes = [{"reason": "ExitCode", "message": str(code)}]
    status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    return b"\x03" + orjson.dumps(status)


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("protocol", [V5, V4])
def test_a_command_is_run_to_its_end(code: int, protocol: str) -> None:
    async def serve(socket: WebSocket) -> None:
        assert socket.subprotocol == protocol
        for message in (b"\x00", b"\x01", b"\x01out", b"\x02err", b"\x01put", ended(code)):
            await socket.send(message)

    async def act(client: Client) -> None:
        done = await client.run("p", ["ls", "-l"], container="c")
        assert (done.exit_code, done.stdout, done.stderr) == (code, b"output", b"err")

    ((path, query),) = against(serve, act, (protocol,))
    assert path == "/api/v1/namespaces/mine/pods/p/exec"
    assert query == {"container": ["c"], "command": ["ls", "-l"], "stdout": ["true"], "stderr": ["true"]}


def test_input_of_any_size_is_sent_while_output_comes_back() -> None:
    size = 4 << 20

    async def cat(socket: WebSocket) -> None:
        while True:
            message = await socket.receive()
            assert isinstance(message, bytes)
            if message[0] == 255:
                assert message == b"\xff\x00"
                break
            assert message[0] == 0
            assert len(message) <= (32 << 10) + 1
            await socket.send(b"\x01" + message[1:])
        await socket.send(ended(0))

    async def act(client: Client) -> None:
        done = await client.run("p", ["cat"], stdin=b"x" * size)
        assert len(done.stdout) == size

    against(cat, act)


def test_a_command_that_ends_early_does_not_wait_for_its_input() -> None:
    async def serve(socket: WebSocket) -> None:
        await socket.send(b"\x01enough")
        await socket.send(ended(1))

    async def act(client: Client) -> None:
        done = await client.run("p", ["head"], stdin=b"x" * (8 << 20))
        assert (done.exit_code, done.stdout) == (1, b"enough")

    against(serve, act)


def test_a_terminal_is_talked_to() -> None:
    async def shell(socket: WebSocket) -> None:
        assert await socket.receive() == b'\x04{"Width":80,"Height":24}'
        assert await socket.receive() == b"\x00exit 7\n"
        await socket.send(b"\x01bye\r\n")
        await socket.send(ended(7))

    async def act(client: Client) -> None:
        async with await client.exec("p", ["sh"], stdin=True, tty=True) as process:
            await process.resize(80, 24)
            await process.write(b"exit 7\n")
            assert [output async for output in process] == [Output("stdout", b"bye\r\n")]
            assert process.exit_code == 7
            assert await process.wait() == 7

    ((_, query),) = against(shell, act)
    assert (query["tty"], query["stdin"], query.get("stderr")) == (["true"], ["true"], None)


def test_leaving_hangs_up() -> None:
    hung_up = asyncio.Event()

    async def serve(socket: WebSocket) -> None:
        async for _ in socket:
            pass
        hung_up.set()

    async def act(client: Client) -> None:
        async with await client.attach("p", stdin=True) as process:
            await process.write(b"x")
        await hung_up.wait()

    ((path, _),) = against(serve, act)
    assert path.endswith("/p/attach")


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (None, "how the command ended is not known"),
        (b'\x03{"status":"Failure","message":"no such file"}', "the command did not run: no such file"),
        (b"\x03nonsense", "the command did not run: nonsense"),
        (b'\x03{"reason":"NonZeroExitCode"}', "the command did not run"),
    ],
    ids=["nothing", "failure", "no status", "no code"],
)
def test_an_end_without_exit_code_is_an_error(last: bytes | None, problem: str) -> None:
    async def serve(socket: WebSocket) -> None:
        if last is not None:
            await socket.send(last)

    async def act(client: Client) -> None:
        with pytest.raises(CommandFailed, match=problem):
            await client.run("p", ["x"])

    against(serve, act)


def test_an_older_server_cannot_be_told_the_end_of_input() -> None:
    async def serve(socket: WebSocket) -> None:
        async for _ in socket:
            pass

    async def act(client: Client) -> None:
        async with await client.exec("p", ["cat"], stdin=True) as process:
            with pytest.raises(CommandFailed, match="cannot signal the end of standard input"):
                await process.write_eof()

    against(serve, act, (V4,))


def test_a_refusal_is_the_apis_error() -> None:
    async def serve(socket: WebSocket) -> None:
        raise AssertionError

    async def act(client: Client) -> None:
        with pytest.raises(NotFound, match="no such pod"):
            await client.run("missing", ["x"])

    against(serve, act)


def framed(port: int = 80) -> tuple[bytes, bytes]:
    number = port.to_bytes(2, "little")
    return b"\x00" + number, b"\x01" + number


async def upper(socket: WebSocket) -> None:
    """A port behind which everything is shouted back."""
    for opening in framed():
        await socket.send(opening)
    async for message in socket:
        assert isinstance(message, bytes)
        assert message[0] == 0
        await socket.send(b"\x00" + message[1:].upper())
        if message.endswith(b"bye"):
            break


def test_a_port_of_a_pod_is_reached() -> None:
    async def act(client: Client) -> None:
        async with await client.port_forward("p", 80) as tunnel:
            await tunnel.write(b"hello")
            assert await tunnel.read() == b"HELLO"
            await tunnel.write(b"bye")
            assert await tunnel.read() == b"BYE"
            assert await tunnel.read() == b""

    ((path, query),) = against(upper, act, (V4,))
    assert (path, query) == ("/api/v1/namespaces/mine/pods/p/portforward", {"ports": ["80"]})


def test_a_port_where_nobody_listens_is_an_error() -> None:
    async def serve(socket: WebSocket) -> None:
        for message in (*framed(), b"\x01connection refused"):
            await socket.send(message)

    async def act(client: Client) -> None:
        async with await client.port_forward("p", 80) as tunnel:
            with pytest.raises(ForwardingFailed, match="connection refused"):
                await tunnel.read()

    against(serve, act, (V4,))


def test_a_local_port_leads_to_the_pod() -> None:
    async def ask(port: int, text: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    async def act(client: Client) -> None:
        async with client.listen("p", 80) as port:
            answers = await asyncio.gather(*[ask(port, b"%d bye" % index) for index in range(5)])
        assert answers == [b"%d BYE" % index for index in range(5)]
        with pytest.raises(OSError, match=r"(?i)connect"):
            await ask(port, b"x")

    assert len(against(upper, act, (V4,))) == 5


def test_a_local_connection_that_cannot_be_carried_is_closed_and_reported() -> None:
    async def serve(socket: WebSocket) -> None:
        raise AssertionError

    async def act(client: Client) -> None:
        failures: list[Exception] = []
        async with client.listen("missing", 80, on_error=failures.append) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        assert [type(failure) for failure in failures] == [NotFound]

    against(serve, act, (V4,))


def test_logs_are_read_whole_and_line_by_line() -> None:
    async def handle(request: Request) -> Response | None:
        if "follow=true" not in request.query_string:
            return Response(200, b"one\ntw\xff\n")
        stream = request.stream(200, ())
        for part in (b"one\nt", b"wo\n", b"three"):
            stream.write(part)
            await stream.drain()
        stream.end()
        return None

    async def main() -> None:
        server = Server(handle)
        await server.start("127.0.0.1", 0)
        async with asyncio.timeout(DEADLINE_S), Client(Http(f"http://127.0.0.1:{server.port}")) as client:
            assert await client.logs("p") == "one\ntw\ufffd\n"
            async with client.follow_logs("p") as lines:
                assert [line async for line in lines] == [b"one", b"two", b"three"]
        await server.close()

    uvloop.run(main())
