"""Everything that a test run starts ends with it, however it ends: in order, by Ctrl-C, or killed.

Servers of tests are daemons that leave their session and their parent, switch users, and overwrite the
environment they were given; a process group, PR_SET_PDEATHSIG or a marker in the environment loses some of them.
What no program changes and every child inherits is a resource limit: each process that runs tests (pytest, or a
worker of xdist) takes a number of its own for the bytes of message queues, which nothing here uses. A guardian,
a process beside it, waits for its end and then ends all that have this number.

    process of tests          soft limit     hard limit     in the environment
    first                     its number     its number     its number
    one started by it         its number     the first's    the first's, its number

The environment is for programs that take a number of their own: a run within a run is known by its beginning.

A plugin of pytest; as a program it is the guardian: `ending.py PID NUMBER`.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["MARK", "marked", "pytest_configure"]

#: The environment variable: the numbers of the run and of those around it.
MARK = "STEERSMAN_TEST_RUN"
_LIMIT = "Max msgqueue size"
#: Where the limit is none, or a large one.
_MOST = 1 << 40
#: Of so many numbers two runs may take the same.
_FEWEST = 1 << 12
#: Processes that themselves wait for ends, and end when there is nothing left to see to.
_GUARDIAN = "test-guardian"
_GUARDIANS = (_GUARDIAN, "keeper-guardian")

#: How long processes have to end in order.
_ORDERLY_S = 5.0
#: How long guardians have to do their work after that.
_PATIENCE_S = 10.0
_CHECK_S = 0.05


def pytest_configure() -> None:
    """Take a number, and have a guardian for it."""
    number = _take_number()
    os.environ[MARK] = ",".join([*filter(None, [os.environ.get(MARK)]), str(number)])
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(number)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _take_number() -> int:
    """One that nobody else has, as the limit; those started by others keep the others' as the hard one."""
    hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
    most = _MOST if hard == resource.RLIM_INFINITY else hard
    if most < _FEWEST:
        # Nothing to choose from: programs that keep their environment are known by that.
        return random.SystemRandom().randrange(_FEWEST, _MOST)
    within = MARK in os.environ
    number = random.SystemRandom().randrange(1 if within else most // 2, most)
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (number, hard if within else number))
    return number


def marked(number: int) -> Iterator[int]:
    """The processes that were started by the one with this number, directly or not, but for guardians."""
    for folder in Path("/proc").iterdir():
        # One that has ended, or ends right now, has nothing to show.
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and _has(folder, number):
                yield int(folder.name)


def _has(folder: Path, number: int) -> bool:
    if (folder / "comm").read_text().strip() in _GUARDIANS or _state(folder) == "Z":
        return False
    for line in (folder / "limits").read_text().splitlines():
        if line.startswith(_LIMIT) and str(number) in line.removeprefix(_LIMIT).split():
            return True
    with contextlib.suppress(PermissionError):
        for entry in (folder / "environ").read_bytes().split(b"\0"):
            if entry.startswith(f"{MARK}=".encode()):
                return str(number) in entry.decode().partition("=")[2].split(",")
    return False


def _state(folder: Path) -> str:
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


# --- the guardian


def _end_all(number: int, how: signal.Signals, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    told: set[int] = set()
    while (left := set(marked(number))) and time.monotonic() < deadline:
        for pid in left - told:
            with contextlib.suppress(OSError):
                _tell(pid, number, how)
        told |= left
        time.sleep(_CHECK_S)


def _tell(pid: int, number: int, how: signal.Signals) -> None:
    """Looked at again with a hold on it, or the process might be a stranger's that has got this one's pid."""
    process = os.pidfd_open(pid)
    try:
        if _has(Path("/proc", str(pid)), number):
            signal.pidfd_send_signal(process, how)
            signal.pidfd_send_signal(process, signal.SIGCONT)
    finally:
        os.close(process)


def _main(pid: int, number: int) -> None:
    process = os.pidfd_open(pid)
    if os.fork():
        os._exit(0)
    os.setsid()
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(_GUARDIAN)
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    # Whoever reads what the tests print must not wait for this process.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    select.select([process], [], [])
    _end_all(number, signal.SIGTERM, _ORDERLY_S)
    _end_all(number, signal.SIGKILL, _PATIENCE_S)


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
