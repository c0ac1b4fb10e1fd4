"""Talking with what runs: commands beside containers, attaching, terminals, ports."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from steersman.cluster.node.errors import RuntimeFailed
from steersman.cluster.node.process.engine import Isolation
from steersman.cluster.node.streaming import Channel, Session, StreamingService
from steersman.testing import eventually
from tests.integration.nodes.process.engine_world import PATIENCE_S, World, run_engine

ISOLATIONS: tuple[Isolation, ...] = ("best", "mirror", "none")
ISOLATION = pytest.mark.parametrize("isolation", ISOLATIONS)
SLEEPS = "echo up; exec sleep 1000"


async def read_all(session: Session) -> dict[Channel, bytes]:
    found = {Channel.STDOUT: b"", Channel.STDERR: b""}
    while (output := await asyncio.wait_for(session.read(), PATIENCE_S)) is not None:
        found[output.channel] += output.data
    return found


async def read_until(session: Session, wanted: bytes) -> bytes:
    found = b""
    while wanted not in found:
        output = await asyncio.wait_for(session.read(), PATIENCE_S)
        assert output is not None, found
        found += output.data
    return found


@ISOLATION
def test_a_command_runs_beside_the_container(tmp_path: Path, isolation: Isolation) -> None:
    own = Path(f"/tmp/steersman-test-{os.getpid()}")

    async def test(engine: World) -> None:
        assert isinstance(engine, StreamingService)
        container = await engine.shell(f"echo mine > {own}; echo up; exec sleep 1000", env={"A": "b"})
        await engine.says(container, "up")
        result = await engine.exec_sync(container, ["sh", "-c", "echo $A; echo no >&2; exit 5"], PATIENCE_S)
        assert result == (5, b"b\n", b"no\n")
        assert (await engine.exec_sync(container, ["cat", str(own)], PATIENCE_S)).stdout == b"mine\n"
        # Whether it is the container's alone depends on what the machine allows.
        assert own.exists() == (engine.roots != "overlay")

    run_engine(test, tmp_path, isolation=isolation)
    own.unlink(missing_ok=True)


def test_commands_that_take_too_long_or_do_not_exist(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell(SLEEPS)
        with pytest.raises(RuntimeFailed, match=r'^command "sleep 1001" timed out$'):
            await engine.exec_sync(container, ["sleep", "1001"], 0.1)
        await eventually(lambda: not _running("sleep", "1001"), PATIENCE_S)
        with pytest.raises(RuntimeFailed, match=r'exec: "nope": executable file not found in \$PATH$'):
            await engine.exec_sync(container, ["nope"], PATIENCE_S)
        await engine.stop_container(container, 0)
        with pytest.raises(RuntimeFailed, match="is not running"):
            await engine.exec_sync(container, ["true"], PATIENCE_S)

    run_engine(test, tmp_path)


def test_three_megabytes_there_and_back(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell(SLEEPS)
        session = await engine.exec(container, ["cat"], stdin=True)
        data = os.urandom(3 << 20)

        async def give() -> None:
            await session.write(data)
            await session.end_input()

        _, found = await asyncio.gather(give(), read_all(session))
        assert found[Channel.STDOUT] == data
        assert await session.wait() == 0
        await session.close()

    run_engine(test, tmp_path)


def test_who_reads_slowly_slows_the_process_down(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell(SLEEPS)
        counter = tmp_path / "written"
        script = f"import os\nfor n in range(1000):\n os.write(1, b'x' * 65536); open('{counter}', 'w').write(str(n))"
        session = await engine.exec(container, ["python3", "-c", script])
        await read_until(session, b"x")
        # What fits into a pipe is written, the rest is not, whatever time there was.
        result = await engine.exec_sync(container, ["sleep", "0.3"], PATIENCE_S)
        assert result.exit_code == 0
        assert not counter.exists() or int(counter.read_text()) < 50
        await session.close()

    run_engine(test, tmp_path, isolation="none")


def test_a_terminal(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell(SLEEPS)
        session = await engine.exec(container, ["sh"], stdin=True, tty=True)
        session.resize(100, 40)
        await session.write(b"stty size; tty; echo done-$((1 + 1))\n")
        said = await read_until(session, b"done-2")
        assert b"40 100" in said
        assert re.search(rb"/dev/pts/\d+|/dev/tty|not a tty", said)
        await session.write(b"exit 6\n")
        await read_all(session)
        assert await session.wait() == 6
        await session.close()

    run_engine(test, tmp_path)


def test_who_leaves_ends_the_command(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell(SLEEPS)
        session = await engine.exec(container, ["sleep", "1002"])
        assert _running("sleep", "1002")
        await session.close()
        await eventually(lambda: not _running("sleep", "1002"), PATIENCE_S)
        assert (await engine.status(container)).state == "running"

    run_engine(test, tmp_path)


def test_a_command_ends_though_somebody_keeps_its_pipes(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell(SLEEPS)
        result = await engine.exec_sync(container, ["sh", "-c", "sleep 1003 & echo started"], PATIENCE_S)
        assert result.stdout == b"started\n"

    run_engine(test, tmp_path)


def test_attached_to_a_container(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        script = "while read line; do echo got $line; echo err $line >&2; done; echo over; exit 3"
        container = await engine.shell(script, stdin=True, stdinOnce=True)
        first = await engine.attach(container)
        second = await engine.attach(container, stdin=True)
        await second.write(b"one\n")
        assert b"got one" in await read_until(second, b"got one")
        await second.end_input()
        found = await read_all(second)
        assert b"over" in found[Channel.STDOUT]
        assert await second.wait() == 3
        assert (await read_all(first)) == {Channel.STDOUT: b"got one\nover\n", Channel.STDERR: b"err one\n"}
        assert engine.said(container).splitlines().count("got one") == 1
        await first.close()
        await second.close()

    run_engine(test, tmp_path)


def test_input_stays_open_for_the_next_one(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell("while read line; do echo got $line; done; echo over", stdin=True)
        for word in (b"one", b"two"):
            session = await engine.attach(container, stdin=True)
            await session.write(word + b"\n")
            await read_until(session, b"got " + word)
            await session.end_input()
            await session.close()
        assert (await engine.status(container)).state == "running"

    run_engine(test, tmp_path)


def test_attached_to_a_terminal(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell("read line; stty size; echo got $line", stdin=True, tty=True)
        session = await engine.attach(container, stdin=True)
        session.resize(90, 30)
        await session.write(b"hello\r")
        found = await read_all(session)
        assert b"30 90" in found[Channel.STDOUT]
        assert b"got hello\r\n" in found[Channel.STDOUT]
        assert await session.wait() == 0
        await session.close()
        assert "got hello" in engine.said(container)

    run_engine(test, tmp_path)


def test_who_attached_and_does_not_read_delays_but_loses_nothing(tmp_path: Path) -> None:
    async def test(engine: World) -> None:
        container = await engine.shell("read go; seq 200000; echo end", stdin=True)
        session = await engine.attach(container, stdin=True)
        await session.write(b"go\n")
        await read_until(session, b"1\n")
        await session.close()
        await engine.ended(container)
        said = engine.said(container).splitlines()
        assert said == [*(str(number) for number in range(1, 200001)), "end"]

    run_engine(test, tmp_path)


def test_a_port_of_a_pod(tmp_path: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hi")
        await writer.drain()
        writer.close()

    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        (status,) = await engine.list_pod_sandboxes("pod-1")
        async with await asyncio.start_server(answer, status.ips[0], 0) as server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await engine.port_forward(sandbox, port)
            assert await reader.read() == b"hi"
            writer.close()
            await writer.wait_closed()
        with pytest.raises(RuntimeFailed, match="failed to connect to"):
            await engine.port_forward(sandbox, port)

    run_engine(test, tmp_path)


def _running(*command: str) -> bool:
    """Whether some process has this command line."""
    wanted = b"\0".join(word.encode() for word in command) + b"\0"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cmdline").read_bytes() == wanted:
                    return True
            except OSError:
                continue
    return False
