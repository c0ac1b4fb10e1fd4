"""Containers reach services' low ports where the proxy may listen at others only.

A server listens at a stand-in; containers connect to the port it stands in for.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from steersman.cluster.node.process.engine import Isolation
from steersman.testing import eventually
from tests.integration.nodes.process.engine_world import PATIENCE_S, World, run_engine

SERVICE = "127.66.0.1"
LOW = 80

#: How programs connect: by a socket that waits, by one that does not, from a thread, by IPv6.
WAITING = "s = socket.create_connection(('127.66.0.1', 80))"
EVENT_LOOP = """
async def talk():
    reader, writer = await asyncio.open_connection('127.66.0.1', 80)
    return await reader.read(99)
print(asyncio.run(talk()).decode())
sys.exit()
"""
THREAD = """
made = []
thread = threading.Thread(target=lambda: made.append(socket.create_connection(('127.66.0.1', 80))))
thread.start(); thread.join(); s = made[0]
"""
MAPPED = """
s = socket.socket(socket.AF_INET6)
s.connect(('::ffff:127.66.0.1', 80))
"""
IMPATIENT = "s = socket.create_connection(('127.66.0.1', 80), timeout=20)"
READ = "\nprint(s.recv(99).decode(), 'blocking' if os.get_blocking(s.fileno()) else 'not blocking')"
IMPORTS = "import asyncio, os, socket, sys, threading\n"


class Answering:
    """A server that greets whoever connects."""

    def __init__(self) -> None:
        self._listener = socket.create_server((SERVICE, 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            # Who asked may have left.
            with connection, suppress(ConnectionError):
                connection.sendall(b"ahoy")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE_S)


@pytest.fixture
def server() -> Iterator[Answering]:
    server = Answering()
    yield server
    server.close()


@pytest.fixture
def stand_ins(tmp_path: Path, server: Answering) -> Path:
    path = tmp_path / "stand-ins"
    listed(path, server.port)
    return path


def listed(path: Path, port: int, protocol: str = "TCP") -> None:
    """Say where the low port answers, as the proxy does."""
    path.mkdir(exist_ok=True)
    fresh = path / ".new"
    fresh.write_text(json.dumps({protocol: {str(LOW): port}}))
    fresh.replace(path / SERVICE)


async def python(engine: World, program: str, uid: str = "pod-1") -> str:
    """A container that runs a program."""
    sandbox = await engine.sandbox(uid)
    return await engine.start(sandbox, sys.executable, "-c", IMPORTS + program)


@pytest.mark.parametrize("isolation", ["best", "links"])
@pytest.mark.parametrize(
    ("program", "said"),
    [
        pytest.param(WAITING + READ, "ahoy blocking", id="waiting"),
        pytest.param(IMPATIENT + READ, "ahoy not blocking", id="waiting for so long"),
        pytest.param(EVENT_LOOP, "ahoy", id="event loop"),
        pytest.param(THREAD + READ, "ahoy blocking", id="thread"),
        pytest.param(MAPPED + READ, "ahoy blocking", id="mapped"),
    ],
)
def test_a_low_port_is_reached_by_its_stand_in(
    tmp_path: Path, stand_ins: Path, program: str, said: str, isolation: Isolation
) -> None:
    async def test(engine: World) -> None:
        container = await python(engine, program)
        status = await engine.ended(container)
        assert (engine.said(container), status.exit_code) == (said, 0)

    run_engine(test, tmp_path, stand_ins=stand_ins, isolation=isolation)


def test_children_of_a_container_and_commands_beside_it_are_led_there_too(
    tmp_path: Path, stand_ins: Path
) -> None:
    connect = IMPORTS + WAITING + READ

    async def test(engine: World) -> None:
        sandbox = await engine.sandbox()
        script = f'"{sys.executable}" -c "$PROGRAM" | cat; sleep 60'
        container = await engine.start(sandbox, "sh", "-c", script, env={"PROGRAM": connect})
        await engine.says(container, "ahoy")
        found = await engine.exec_sync(container, [sys.executable, "-c", connect], PATIENCE_S)
        assert (found.exit_code, found.stdout.strip()) == (0, b"ahoy blocking")

    run_engine(test, tmp_path, stand_ins=stand_ins)


def test_datagrams_of_a_connected_socket_are_led_there(tmp_path: Path) -> None:
    stand_ins = tmp_path / "stand-ins"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((SERVICE, 0))
        server.settimeout(PATIENCE_S)
        listed(stand_ins, server.getsockname()[1], "UDP")
        program = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('127.66.0.1', 80))
s.send(b'ahoy')
"""

        async def test(engine: World) -> None:
            container = await python(engine, program)
            await engine.ended(container)
            assert engine.said(container) == ""

        run_engine(test, tmp_path, stand_ins=stand_ins)
        assert server.recv(99) == b"ahoy"


def test_a_list_that_changes_is_read_again(tmp_path: Path, server: Answering) -> None:
    stand_ins = tmp_path / "stand-ins"
    program = """
while True:
    try:
        s = socket.create_connection(('127.66.0.1', 80))
        break
    except ConnectionRefusedError:
        print('refused', flush=True)
        os.sched_yield()
"""

    async def test(engine: World) -> None:
        container = await python(engine, program + READ)
        await engine.says(container, "refused")
        listed(stand_ins, 1)
        listed(stand_ins, server.port)
        await engine.says(container, "ahoy")

    run_engine(test, tmp_path, stand_ins=stand_ins)


@pytest.mark.parametrize(
    "content", [None, "", "[]", '{"TCP": 7}', '{"TCP": {"80": "x"}}', '{"TCP": {"80": 65536}}']
)
def test_without_a_list_that_can_be_read_connections_are_what_they_are(
    tmp_path: Path, server: Answering, content: str | None
) -> None:
    stand_ins = tmp_path / "stand-ins"
    if content is not None:
        stand_ins.mkdir()
        (stand_ins / SERVICE).write_text(content)
    program = f"""
try:
    socket.create_connection(('127.66.0.1', 80))
except ConnectionRefusedError:
    print('refused')
s = socket.create_connection(('127.66.0.1', {server.port}))
"""

    async def test(engine: World) -> None:
        container = await python(engine, program + READ)
        await engine.ended(container)
        assert engine.said(container) == "refused\nahoy blocking"

    run_engine(test, tmp_path, stand_ins=stand_ins)


def test_a_refused_stand_in_is_told_as_a_refusal(tmp_path: Path) -> None:
    stand_ins = tmp_path / "stand-ins"
    with socket.socket() as nobody:
        nobody.bind((SERVICE, 0))
        listed(stand_ins, nobody.getsockname()[1])

        async def test(engine: World) -> None:
            container = await python(engine, "s = socket.socket()\nprint(s.connect_ex(('127.66.0.1', 80)))")
            await engine.ended(container)
            assert engine.said(container) == "111"

        run_engine(test, tmp_path, stand_ins=stand_ins)


def test_descriptors_that_cannot_be_connected_fail_as_they_would_and_cost_the_keeper_nothing(
    tmp_path: Path, stand_ins: Path
) -> None:
    program = """
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
low = struct.pack('<H', socket.AF_INET) + struct.pack('>H', 80) + socket.inet_aton('127.66.0.1') + bytes(8)
ours, theirs = socket.socketpair()
for fd in (os.open('/dev/null', os.O_RDONLY), 999, ours.fileno(), socket.socket(socket.AF_INET6).fileno()):
    for _ in range(50):
        assert libc.connect(fd, low, 16) == -1
    print(ctypes.get_errno(), libc.connect(fd, None, 16), libc.connect(fd, low, 2))
"""

    async def test(engine: World) -> None:
        keeper = (await (await engine._keeper()).call("hello"))["pid"]
        before = len(os.listdir(f"/proc/{keeper}/fd"))
        container = await python(engine, program + WAITING + READ)
        assert (await engine.ended(container)).exit_code == 0, engine.said(container)
        assert engine.said(container).splitlines()[-1] == "ahoy blocking"
        assert [line.split()[1:] for line in engine.said(container).splitlines()[:-1]] == [["-1", "-1"]] * 4
        await eventually(lambda: len(os.listdir(f"/proc/{keeper}/fd")) <= before, PATIENCE_S)

    run_engine(test, tmp_path, stand_ins=stand_ins)


def test_who_waits_for_a_full_server_holds_up_neither_the_keeper_nor_its_own_end(tmp_path: Path) -> None:
    stand_ins = tmp_path / "stand-ins"
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server((SERVICE, 0), backlog=0))
        for filling in (stack.enter_context(socket.socket()) for _ in range(2)):
            filling.setblocking(False)
            filling.connect_ex(full.getsockname())
        listed(stand_ins, full.getsockname()[1])

        async def test(engine: World) -> None:
            waiting = await python(engine, "print('go', flush=True)\n" + WAITING)
            await engine.says(waiting, "go")
            # Others are started and end meanwhile.
            other = await python(engine, "print('done')", "pod-2")
            assert (await engine.ended(other)).exit_code == 0
            await engine.stop_container(waiting, 0)
            assert (await engine.ended(waiting)).exit_code == 128 + signal.SIGTERM

        run_engine(test, tmp_path, stand_ins=stand_ins)


def test_a_thousand_connections_leave_no_descriptor_in_the_keeper(tmp_path: Path, stand_ins: Path) -> None:
    program = """
for _ in range(500):
    with socket.create_connection(('127.66.0.1', 80)) as s:
        assert s.recv(99) == b'ahoy'
"""

    async def test(engine: World) -> None:
        keeper = (await (await engine._keeper()).call("hello"))["pid"]
        before = len(os.listdir(f"/proc/{keeper}/fd"))
        for number in range(2):
            container = await python(engine, program, f"pod-{number + 1}")
            assert (await engine.ended(container)).exit_code == 0, engine.said(container)
        await eventually(lambda: len(os.listdir(f"/proc/{keeper}/fd")) <= before, PATIENCE_S)

    run_engine(test, tmp_path, stand_ins=stand_ins)
