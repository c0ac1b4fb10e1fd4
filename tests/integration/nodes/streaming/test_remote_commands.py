"""exec and attach at the node, in every protocol that clients speak."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.streaming import OutputChunk
from steersman.http import Client, WebSocket
from steersman.http.errors import UpgradeRefused, WebSocketClosed
from steersman.http.spdy import SpdyConnection, SpdyError, SpdyStream
from tests.support.local_processes import LocalSession
from tests.support.streaming_node import StreamingNode
from tests.support.waiting import pass_time, until

WithNode = Callable[[Callable[[Client, StreamingNode], Any]], None]

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
SUCCESS = {"metadata": {}, "status": "Success"}


def target(*command: str, kind: str = "exec", **streams: int) -> str:
    chosen = streams or {"output": 1, "error": 1}
    return f"/{kind}/ns/pod/main?{urlencode([*chosen.items(), *(('command', word) for word in command)])}"


def failure(code: int, *command: str) -> dict[str, Any]:
    return {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: "
        f"error executing command [{' '.join(command)}], exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


async def messages(socket: WebSocket) -> dict[int, bytes]:
    """Everything that came, by channel."""
    found: dict[int, bytes] = {}
    async for message in socket:
        assert isinstance(message, bytes)
        found[message[0]] = found.get(message[0], b"") + message[1:]
    assert socket.close_code == 1000
    return found


@pytest.mark.parametrize("protocol", [V5, V4])
@pytest.mark.parametrize("code", [0, 3])
def test_a_command_is_run_and_its_end_told(with_node: WithNode, protocol: str, code: int) -> None:
    script = f"echo out; echo err >&2; exit {code}"

    async def test(client: Client, node: StreamingNode) -> None:
        socket = await client.websocket(target("sh", "-c", script), (protocol,))
        assert socket.subprotocol == protocol
        # Tells the client that it is connected.
        assert await socket.receive() == b"\x01"
        said = await messages(socket)
        assert (said[1], said[2]) == (b"out\n", b"err\n")
        assert orjson.loads(said[3]) == (SUCCESS if code == 0 else failure(code, "sh", "-c", script))

    with_node(test)


@pytest.mark.parametrize(
    ("command", "told"), [("exit 0", b""), ("exit 4", b"command terminated with non-zero exit code: ")]
)
@pytest.mark.parametrize("protocol", ["channel.k8s.io", None])
def test_old_clients_are_told_in_words(
    with_node: WithNode, protocol: str | None, command: str, told: bytes
) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        asked = (protocol,) if protocol else ()
        socket = await client.websocket(target("sh", "-c", f"echo hi; {command}"), asked)
        said = await messages(socket)
        assert said[1] == b"hi\n"
        assert said.get(3, b"")[: len(told)] == told
        assert bool(said.get(3)) == bool(told)

    with_node(test)


@pytest.mark.parametrize("protocol", ["base64.channel.k8s.io", "v4.base64.channel.k8s.io"])
def test_browsers_may_speak_base64(with_node: WithNode, protocol: str) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        socket = await client.websocket(target("head", "-c", "4", input=1, output=1), (protocol,))
        assert await socket.receive() == "1"
        for text in ("0!not base64!", "0" + base64.b64encode(b"\x00\xffab").decode(), "7", ""):
            await socket.send(text)
        said = [str(message) async for message in socket]
        assert [base64.b64decode(text[1:]) for text in said if text[0] == "1"] == [b"\x00\xffab"]
        assert len([text for text in said if text[0] == "3"]) == ("v4" in protocol)

    with_node(test)


def test_megabytes_pass_both_ways_and_the_end_of_input_is_told(with_node: WithNode) -> None:
    data = os.urandom(3 << 20)

    async def test(client: Client, node: StreamingNode) -> None:
        socket = await client.websocket(target("cat", input=1, output=1), (V5,))

        async def send() -> None:
            for start in range(0, len(data), 32 << 10):
                await socket.send(b"\x00" + data[start : start + (32 << 10)])
            await socket.send(b"\xff\x00")

        sending = asyncio.ensure_future(send())
        said = await messages(socket)
        await sending
        assert said[1] == data
        assert orjson.loads(said[3]) == SUCCESS

    with_node(test)


def test_a_terminal_has_a_size_and_one_output(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        script = "echo begin >&2; read line; stty size; exit 7"
        socket = await client.websocket(target("sh", "-c", script, input=1, output=1, error=1, tty=1), (V5,))
        said = b""
        while b"begin" not in said:
            message = await socket.receive()
            assert isinstance(message, bytes)
            assert message[0] == 1
            said += message[1:]
        await socket.send(b'\x04{"Width":111,"Height":33}')
        await socket.send(b"\x00go\n")
        rest = await messages(socket)
        assert b"33 111\r\n" in rest[1]
        assert orjson.loads(rest[3])["details"]["causes"][0]["message"] == "7"

    with_node(test)


@pytest.mark.parametrize("breaks", [b"\xff", b"\xff\x09", b"\xff\x00\x00"], ids=["no", "unknown", "two"])
def test_a_wrong_end_signal_ends_the_connection(with_node: WithNode, breaks: bytes) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        socket = await client.websocket(target("sleep", "1000", input=1, output=1), (V5,))
        await socket.send(breaks)
        assert [message async for message in socket] == [b"\x01"]
        assert socket.close_code == 1002
        await closed(node)

    with_node(test)


async def closed(node: StreamingNode) -> None:
    """Until the last session has been."""
    await until(lambda: node.engine.sessions and node.engine.sessions[-1].closed, 60)


@pytest.mark.parametrize("protocol", [V5, "SPDY"])
def test_a_client_that_vanishes_ends_the_command(with_node: WithNode, protocol: str) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        where = target("sh", "-c", "echo go; sleep 1000")
        if protocol == V5:
            socket = await client.websocket(where, (V5,))
            while await socket.receive() != b"\x01go\n":
                pass
            socket._upgraded.abort()
        else:
            async with spdy(client, where, V4) as streams:
                assert await streams["stdout"].read() == b"go\n"
        await closed(node)

    with_node(test)


def test_a_client_that_does_not_read_stops_the_command(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        script = "import sys\nfor n in range(10**9): sys.stdout.buffer.write(b'x' * 65536)"
        socket = await client.websocket(target("python3", "-c", script, output=1), (V5,))
        await socket.receive()
        # The kernel's buffers fill; after that nothing moves.
        await until(lambda: node.engine.sessions, 60)
        said = node.engine.sessions[-1]._said
        quiet = 0
        while quiet < 10:
            before = said.qsize()
            await pass_time(0.02, "how long it must be quiet, ten times")
            quiet = quiet + 1 if said.full() and said.qsize() == before else 0
        socket._upgraded.abort()

    with_node(test)


def test_stopping_the_server_ends_commands(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        socket = await client.websocket(target("sleep", "1000"), (V5,))
        assert await socket.receive() == b"\x01"
        await until(lambda: node.engine.sessions, 60)
        await node.server.close()
        assert node.engine.sessions[-1].closed
        with pytest.raises(WebSocketClosed):
            await socket.receive()

    with_node(test)


@pytest.mark.parametrize("protocol", [V5, "SPDY"])
def test_a_connection_on_which_nothing_happens_is_ended(with_node: WithNode, protocol: str) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        node.idle_timeout_s = 0.2
        where = target("sleep", "1000")
        if protocol == V5:
            assert await messages(await client.websocket(where, (V5,))) == {1: b""}
        else:
            async with spdy(client, where, V4) as streams:
                with pytest.raises(SpdyError):
                    await streams["error"].read()
        await closed(node)

    with_node(test)


def test_a_command_that_cannot_be_run_is_an_internal_error(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        said = await messages(await client.websocket(target("no-such-program"), (V5,)))
        status = orjson.loads(said[3])
        assert (status["reason"], status["code"]) == ("InternalError", 500)
        assert status["message"] == (
            "Internal error occurred: error executing command in container: "
            "no-such-program: No such file or directory"
        )

    with_node(test)


@pytest.mark.parametrize("protocol", [V5, "SPDY"])
def test_an_engine_that_fails_in_the_middle_is_an_internal_error(with_node: WithNode, protocol: str) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        start = node.engine.exec

        async def failing(*arguments: Any, **options: Any) -> LocalSession:
            session = await start(*arguments, **options)
            read = session.read

            async def once() -> OutputChunk | None:
                said = await read()
                session.read = broken  # type: ignore[method-assign]
                return said

            session.read = once  # type: ignore[method-assign]
            return session

        async def broken() -> OutputChunk | None:
            raise RuntimeFailed("the keeper is gone")

        node.engine.exec = failing  # type: ignore[method-assign]
        where = target("sh", "-c", "echo first; sleep 1000")
        if protocol == V5:
            said = await messages(await client.websocket(where, (V5,)))
            out, told = said[1], said[3]
        else:
            async with spdy(client, where, V4) as streams:
                out, told = await whole(streams["stdout"]), await whole(streams["error"])
        assert out == b"first\n"
        assert orjson.loads(told)["message"] == (
            "Internal error occurred: error executing command in container: the keeper is gone"
        )
        await closed(node)

    with_node(test)


def test_attaching_listens_and_talks_and_leaves_the_container_alone(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        await node.engine.run("main", "sh", "-c", "while read x; do echo got $x; done; exit 5")
        where = target(kind="attach", input=1, output=1, error=1)
        socket = await client.websocket(where, (V5,))
        await socket.receive()
        await socket.send(b"\x00one\n")
        assert await socket.receive() == b"\x01got one\n"
        await socket.close()
        await closed(node)
        socket = await client.websocket(where, (V5,))
        await socket.receive()
        await socket.send(b"\x00two\n")
        assert await socket.receive() == b"\x01got two\n"
        await socket.send(b"\xff\x00")
        # How the container ended is its pod's business.
        assert orjson.loads((await messages(socket))[3]) == SUCCESS

    with_node(test)


def test_what_is_not_running_cannot_be_attached_to(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        said = await messages(await client.websocket(target(kind="attach"), (V5,)))
        assert orjson.loads(said[3])["message"] == (
            "Internal error occurred: error attaching to container: there is no container main"
        )

    with_node(test)


@pytest.mark.parametrize(
    ("where", "headers", "code", "text"),
    [
        ("/exec/ns/pod/main?tty=1&error=1", {}, 400, "you must specify at least 1 of stdin, stdout, stderr"),
        (target("x"), {}, 400, "unable to upgrade: missing upgrade headers in request"),
        (
            target("x"),
            {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"},
            400,
            "unable to upgrade: header X-Stream-Protocol-Version does not exist in request with",
        ),
        (
            target("x"),
            {
                "Connection": "Upgrade",
                "Upgrade": "SPDY/3.1",
                "X-Stream-Protocol-Version": "v9.channel.k8s.io",
            },
            403,
            "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], server accepts "
            "[v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]",
        ),
    ],
    ids=["no stream", "no upgrade", "no version", "unknown version"],
)
def test_other_requests_are_refused(
    with_node: WithNode, where: str, headers: dict[str, str], code: int, text: str
) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        with pytest.raises(UpgradeRefused) as refused:
            await client.upgrade("POST", where, headers=raw)
        assert (refused.value.status, refused.value.content.decode()[: len(text)]) == (code, text)

    with_node(test)


# SPDY


@asynccontextmanager
async def spdy(client: Client, where: str, protocol: str) -> AsyncIterator[dict[str, SpdyStream]]:
    """The streams that `where` asks for, opened as kubectl does."""
    asked = [(b"Connection", b"Upgrade"), (b"Upgrade", b"SPDY/3.1")]
    asked.append((b"X-Stream-Protocol-Version", protocol.encode()))
    answer, upgraded = await client.upgrade("POST", where, headers=asked)
    assert answer.get("x-stream-protocol-version") == protocol
    kinds = {"input": "stdin", "output": "stdout", "error": "stderr"}
    wanted = ["error", *(kind for option, kind in kinds.items() if f"{option}=1" in where)]
    if "tty=1" in where and protocol[:2] in ("v3", "v4"):
        wanted.append("resize")
    async with SpdyConnection(upgraded, server=False) as connection:
        yield {kind: await connection.open({"streamType": kind}) for kind in wanted}


async def whole(stream: SpdyStream) -> bytes:
    parts = []
    try:
        while data := await stream.read():
            parts.append(data)
    except SpdyError as error:
        pytest.fail(f"{error} after {b''.join(parts)!r}")
    return b"".join(parts)


@pytest.mark.parametrize("protocol", [V4, "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"])
@pytest.mark.parametrize("code", [0, 3])
def test_a_command_is_run_over_spdy(with_node: WithNode, protocol: str, code: int) -> None:
    command = ("sh", "-c", f"cat; echo err >&2; exit {code}")

    async def test(client: Client, node: StreamingNode) -> None:
        async with spdy(client, target(*command, input=1, output=1, error=1), protocol) as streams:
            await streams["stdin"].write(b"\x00\xff in")
            streams["stdin"].end()
            assert await whole(streams["stdout"]) == b"\x00\xff in"
            assert await whole(streams["stderr"]) == b"err\n"
            told = await whole(streams["error"])
        if protocol == V4:
            assert orjson.loads(told) == (SUCCESS if code == 0 else failure(code, *command))
        else:
            assert told.decode() == ("" if code == 0 else failure(code, *command)["message"])

    with_node(test)


@pytest.mark.parametrize("protocol", [V4, "v3.channel.k8s.io"])
def test_a_terminal_is_resized_over_spdy(with_node: WithNode, protocol: str) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        where = target("sh", "-c", "echo begin; read line; stty size", input=1, output=1, tty=1)
        async with spdy(client, where, protocol) as streams:
            said = b""
            while b"begin" not in said:
                said += await streams["stdout"].read()
            # Cut in the middle, and two at once.
            await streams["resize"].write(b'{"Width":1,"Hei')
            await streams["resize"].write(b'ght":2}{"Width":111,"Height":33}\n')
            await streams["stdin"].write(b"go\n")
            assert b"33 111\r\n" in await whole(streams["stdout"])

    with_node(test)


def test_streams_nobody_knows_are_refused_over_spdy(with_node: WithNode) -> None:
    async def test(client: Client, node: StreamingNode) -> None:
        asked = [(b"Connection", b"Upgrade"), (b"Upgrade", b"SPDY/3.1")]
        asked.append((b"X-Stream-Protocol-Version", V4.encode()))
        _, upgraded = await client.upgrade("POST", target("true", output=1), headers=asked)
        async with SpdyConnection(upgraded, server=False) as connection:
            with pytest.raises(SpdyError):
                await connection.open({"streamType": "nonsense"})
            error = await connection.open({"streamType": "error"})
            with pytest.raises(SpdyError):
                await connection.open({"streamType": "error"})
            await connection.open({"streamType": "stdout"})
            assert orjson.loads(await whole(error)) == SUCCESS

    with_node(test)
