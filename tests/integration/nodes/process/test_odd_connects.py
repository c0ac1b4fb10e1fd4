"""What a program may do with `connect` does neither harm the node's keeper nor change what `connect` means.

Programs call the C library themselves, since Python's sockets wait on their own account.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steersman.cluster.node.process.keeper import system_calls
from steersman.testing import eventually
from tests.integration.nodes.process.engine_world import PATIENCE_S, World, run_engine
from tests.integration.nodes.process.test_low_ports import SERVICE, Answering, listed, python

C = """
import ctypes, errno, signal, struct, time
libc = ctypes.CDLL(None, use_errno=True)
low = struct.pack('<H', socket.AF_INET) + struct.pack('>H', 80) + socket.inet_aton('127.66.0.1') + bytes(8)
def connect(sock, address=low, length=16):
    ctypes.set_errno(0)
    result = libc.connect(ctypes.c_int(sock.fileno()), address, ctypes.c_int(length))
    return errno.errorcode[ctypes.get_errno()] if result else 'connected'
"""


@contextmanager
def full_server(stand_ins: Path) -> Iterator[socket.socket]:
    """A server that answers nobody; to be emptied by `accept`."""
    with (
        socket.create_server((SERVICE, 0), backlog=0) as full,
        socket.socket() as one,
        socket.socket() as two,
    ):
        for filling in (one, two):
            filling.setblocking(False)
            filling.connect_ex(full.getsockname())
        listed(stand_ins, full.getsockname()[1])
        yield full


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    return tmp_path / "stand-ins"


@pytest.fixture
def server(stand_ins: Path) -> Iterator[Answering]:
    server = Answering()
    listed(stand_ins, server.port)
    yield server
    server.close()


async def keeper_of(engine: World) -> int:
    found: int = (await (await engine._keeper()).call("hello"))["pid"]
    return found


def check(program: str, said: list[str], tmp_path: Path, stand_ins: Path) -> None:
    async def test(engine: World) -> None:
        container = await python(engine, C + program)
        status = await engine.ended(container)
        assert (engine.said(container).splitlines(), status.exit_code) == (said, 0)

    run_engine(test, tmp_path, stand_ins=stand_ins)


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param("connect(s, ctypes.c_void_p(-1))", "EFAULT", id="an address outside of the world"),
        pytest.param("connect(s, ctypes.c_void_p(1 << 63))", "EFAULT", id="one of the kernel"),
        pytest.param("connect(s, None)", "EFAULT", id="none"),
        pytest.param("connect(s, low, 8)", "EINVAL", id="a short one"),
        pytest.param("connect(s, low + bytes(200), 129)", "EINVAL", id="a long one"),
        pytest.param("connect(s, low, -1)", "EINVAL", id="one of no length"),
        pytest.param("connect(s, low, 0)", "EINVAL", id="an empty one"),
    ],
)
def test_what_the_kernel_refuses_is_refused_and_the_next_call_is_answered(
    tmp_path: Path, stand_ins: Path, call: str, said: str
) -> None:
    program = f"""
s = socket.socket()
print({call})
print(connect(s), s.recv(99).decode())
"""
    check(program, [said, "connected ahoy"], tmp_path, stand_ins)


@pytest.mark.usefixtures("server")
def test_states_of_a_socket_are_those_that_connect_knows(tmp_path: Path, stand_ins: Path) -> None:
    program = """
s = socket.socket()
print(connect(s), connect(s))
print(connect(s, bytes(16)), connect(s))
n = socket.socket()
n.setblocking(False)
first = connect(n)
print(first in ('connected', 'EINPROGRESS'), n.getblocking())
"""
    check(program, ["connected EISCONN", "connected connected", "True False"], tmp_path, stand_ins)


@pytest.mark.usefixtures("server")
def test_a_program_with_a_listener_of_its_own_is_told_that_there_is_one(
    tmp_path: Path, stand_ins: Path
) -> None:
    program = f"""
number = {system_calls._SECCOMP}
steps = struct.pack('=HBBI', 6, 0, 0, 0x7fff0000)
class Filter(ctypes.Structure):
    _fields_ = (('length', ctypes.c_ushort), ('steps', ctypes.c_char_p))
libc.prctl(38, 1, 0, 0, 0)
given = ctypes.byref(Filter(1, steps))
listening = libc.syscall(ctypes.c_long(number), ctypes.c_long(1), ctypes.c_long(8), given)
print(listening, errno.errorcode[ctypes.get_errno()])
print(libc.syscall(ctypes.c_long(number), ctypes.c_long(1), ctypes.c_long(0), given))
print(connect(socket.socket()))
"""
    check(program, ["-1 EBUSY", "0", "connected"], tmp_path, stand_ins)


def test_a_socket_that_waits_does_so_unseen_and_for_as_long_as_it_says(
    tmp_path: Path, stand_ins: Path
) -> None:
    program = """
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('@ll', 0, 300000))
seen = []
thread = threading.Thread(target=lambda: seen.append(connect(s)))
began = time.monotonic()
thread.start()
blocking = {os.get_blocking(s.fileno()) for _ in range(100) if not time.sleep(0.001)}
thread.join()
print(seen, blocking, 0.25 < time.monotonic() - began < 20)
s.setblocking(False)
print(connect(s))
"""
    with full_server(stand_ins):
        check(program, ["['EALREADY'] {True} True", "EALREADY"], tmp_path, stand_ins)


@pytest.mark.parametrize(
    ("restarts", "said"),
    [
        pytest.param("False", "connected", id="restarted"),
        pytest.param("True", "EINTR", id="interrupted"),
    ],
)
def test_a_signal_interrupts_connect_as_the_program_has_it(
    tmp_path: Path, stand_ins: Path, restarts: str, said: str
) -> None:
    program = f"""
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.siginterrupt(signal.SIGUSR1, {restarts})
s = socket.socket()
over = threading.Event()
def disturb():
    while not over.wait(0.05):
        os.kill(os.getpid(), signal.SIGUSR1)
        print('disturbed', flush=True)
threading.Thread(target=disturb).start()
print(connect(s))
over.set()
"""

    async def test(engine: World) -> None:
        container = await python(engine, C + program)
        await engine.says(container, "disturbed\ndisturbed" if said == "connected" else said)
        await asyncio.to_thread(accept)
        await engine.ended(container)
        words = [line for line in engine.said(container).splitlines() if line != "disturbed"]
        assert words == [said]

    with full_server(stand_ins) as full:

        def accept() -> None:
            full.settimeout(PATIENCE_S)
            for _ in range(2):
                full.accept()[0].close()

        run_engine(test, tmp_path, stand_ins=stand_ins)


@pytest.mark.parametrize(
    ("blocking", "fine"),
    [
        pytest.param("True", "{'connected'}", id="waiting"),
        pytest.param("False", "{'connected', 'EINPROGRESS'}", id="not waiting"),
    ],
)
@pytest.mark.usefixtures("server")
def test_signals_without_end_do_not_show(tmp_path: Path, stand_ins: Path, blocking: str, fine: str) -> None:
    program = f"""
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
said = set()
for _ in range(1500):
    with socket.socket() as s:
        s.setblocking({blocking})
        said.add(connect(s))
signal.setitimer(signal.ITIMER_REAL, 0)
print(said - {fine})
"""
    check(program, ["set()"], tmp_path, stand_ins)


def test_a_socket_that_was_refused_after_waiting_can_be_used_again(tmp_path: Path, stand_ins: Path) -> None:
    program = """
s = socket.socket()
print('go', flush=True)
print(connect(s), flush=True)
while (said := connect(s)) == 'ECONNREFUSED':
    time.sleep(0.01)
print(said, connect(s))
"""

    async def test(engine: World) -> None:
        with full_server(stand_ins) as full:
            container = await python(engine, C + program)
            await engine.says(container, "go")
            await eventually(lambda: _waiting_for(full) == 2, PATIENCE_S)
        # Nobody listens there any more.
        await engine.says(container, "ECONNREFUSED")
        server = Answering()
        listed(stand_ins, server.port)
        assert (await engine.ended(container)).exit_code == 0
        server.close()
        assert engine.said(container).splitlines()[1:] == ["ECONNREFUSED", "connected EISCONN"]

    run_engine(test, tmp_path, stand_ins=stand_ins)


def _waiting_for(server: socket.socket) -> int:
    """How many connections to it are being made (SYN_SENT); one of those that fill it is."""
    wanted = f"{socket.inet_aton(SERVICE)[::-1].hex().upper()}:{server.getsockname()[1]:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[2] == wanted and line[3] == "02" for line in lines)


def threads_have_handles() -> bool:
    """Since Linux 6.9."""
    try:
        os.close(os.pidfd_open(os.getpid(), os.O_EXCL))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not threads_have_handles(), reason="Linux before 6.9")
@pytest.mark.usefixtures("server")
def test_a_thread_with_descriptors_of_its_own_connects_its_own_socket(
    tmp_path: Path, stand_ins: Path
) -> None:
    program = """
files = 0x400  # CLONE_FILES
decoy = socket.socket()
def own():
    assert libc.unshare(files) == 0
    mine = socket.socket()
    os.dup2(mine.fileno(), decoy.fileno())
    mine.close()
    print(connect(decoy), decoy.recv(99).decode())
thread = threading.Thread(target=own)
thread.start()
thread.join()
try:
    decoy.getpeername()
except OSError as error:
    print(error.errno == errno.ENOTCONN)
"""
    check(program, ["connected ahoy", "True"], tmp_path, stand_ins)


def test_who_waits_stops_goes_on_or_ends_costs_the_keeper_nothing(tmp_path: Path, stand_ins: Path) -> None:
    program = "print(os.getpid(), flush=True)\nprint(connect(socket.socket()))"

    async def test(engine: World) -> None:
        keeper = await keeper_of(engine)

        def descriptors() -> int:
            return len(os.listdir(f"/proc/{keeper}/fd"))

        empty = descriptors()
        idle = await python(engine, C + "print('idle', flush=True)\nsignal.pause()")
        await engine.says(idle, "idle")
        of_a_container = descriptors() - empty
        with full_server(stand_ins) as full:
            container = await python(engine, C + program, "pod-2")
            await eventually(lambda: _waiting_for(full) == 2, PATIENCE_S)
            assert descriptors() == empty + 2 * of_a_container
            pid = int(engine.said(container))
            os.kill(pid, signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
            child = await python(engine, C + f"if os.fork():\n    os.wait()\n{program}", "pod-3")
            await eventually(lambda: _waiting_for(full) == 3, PATIENCE_S)
            os.kill(int(engine.said(child)), signal.SIGKILL)
            # Its parent asks instead.
            await eventually(lambda: len(engine.said(child).splitlines()) == 2, PATIENCE_S)
            await eventually(lambda: _waiting_for(full) == 3, PATIENCE_S)
            assert descriptors() == empty + 3 * of_a_container
        await engine.ended(container)
        assert engine.said(container).splitlines()[1:] == ["ECONNREFUSED"]

    run_engine(test, tmp_path, stand_ins=stand_ins)


def test_hundreds_that_wait_keep_neither_each_other_nor_other_pods_from_connecting(
    tmp_path: Path, stand_ins: Path
) -> None:
    crowd = """
import resource
s = [socket.socket() for _ in range(400)]
codes = []
threading.stack_size(1 << 17)
threads = [threading.Thread(target=lambda one=one: codes.append(connect(one))) for one in s]
for thread in threads:
    thread.start()
print('waiting', flush=True)
for thread in threads:
    thread.join()
print(sorted(set(codes)), len(codes), flush=True)
"""

    async def test(engine: World) -> None:
        keeper = await keeper_of(engine)
        with full_server(stand_ins) as full:
            crowded = await python(engine, C + crowd, "pod-1")
            await engine.says(crowded, "waiting")
            await eventually(lambda: _waiting_for(full) == 401, PATIENCE_S)
            assert len(os.listdir(f"/proc/{keeper}/fd")) < 50
            # Another pod's call waits for the same server and is not told to try again.
            other = await python(
                engine, C + "print('go', flush=True)\nprint(connect(socket.socket()))", "pod-2"
            )
            await engine.says(other, "go")
            await eventually(lambda: _waiting_for(full) == 402, PATIENCE_S)
        for container, words in ((crowded, "waiting\n['ECONNREFUSED'] 400"), (other, "go\nECONNREFUSED")):
            assert (await engine.ended(container)).exit_code == 0
            assert engine.said(container) == words

    run_engine(test, tmp_path, stand_ins=stand_ins)
