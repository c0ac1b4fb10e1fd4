"""Programs that tests start for themselves: found, run as an ordinary user in a folder of their own, stopped.

The servers built on this listen on a socket in their folder, so that no two tests ever want one port.
"""

from __future__ import annotations

import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.waiting import soon

__all__ = ["Server", "needed", "private_folder", "unprivileged"]

#: Nothing takes this long; what does hangs.
DEADLINE_S = 30.0


def needed(program: str, *folders: str) -> str:
    """Where `program` is; the test is skipped if it is nowhere."""
    found = shutil.which(program, path=os.pathsep.join([os.environ["PATH"], *folders]))
    if found is None:
        pytest.skip(
            f"{program} is not installed (scripts/install-servers installs it from Debian's packages)"
        )
    return found


def unprivileged() -> str | None:
    """The user to run servers as: PostgreSQL refuses to be root. None if that is who we are."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that belongs to the user servers run as."""
    # Short, and reachable by that user, which pytest's folders are not.
    with tempfile.TemporaryDirectory(prefix="steer-") as name:
        user = unprivileged()
        if user is not None:
            shutil.chown(name, user)
        yield Path(name)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []


@contextmanager
def _handles_of(pids: Iterable[int]) -> Iterator[list[int]]:
    """What becomes readable when a process ends, of those that have not."""
    with ExitStack() as stack:
        handles = []
        for pid in pids:
            with suppress(ProcessLookupError):
                handles.append(os.pidfd_open(pid))
                stack.callback(os.close, handles[-1])
        yield handles


class Server:
    """A program that runs until it is stopped. It can be started again, and frozen for a while."""

    def __init__(self, command: list[str], folder: Path, is_up: Callable[[], bool]) -> None:
        self.command = command
        self.folder = folder
        self._is_up = is_up
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers."""
        log = self.folder / "log"
        with log.open("ab") as output:
            process = self._process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                user=unprivileged(),
            )
        try:
            soon(lambda: self._is_up() or process.poll() is not None, DEADLINE_S, every_s=0.02)
            assert process.poll() is None
        except AssertionError:
            self.kill()
            output = log.read_text(errors="replace")
            raise AssertionError(f"{self.command[0]} did not start:\n{output}") from None

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, and wait until it and its children have: those of a killed PostgreSQL end by
        themselves, and while one of them is there no other may use the data."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGCONT)
        with _handles_of(_children(process.pid)) as children:
            process.send_signal(number)
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for child in children:
                assert select.select([child], [], [], DEADLINE_S)[0], (
                    f"a child of {self.command[0]} does not end"
                )

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It and its children keep their connections, and do nothing."""
        assert self._process is not None
        pid = self._process.pid
        os.kill(pid, signal.SIGSTOP)  # first, so that it has no more children
        everyone = [pid, *_children(pid)]
        for each in everyone:
            os.kill(each, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in reversed(everyone):
                os.kill(each, signal.SIGCONT)

    @contextmanager
    def running(self) -> Iterator[None]:
        self.start()
        try:
            yield
        finally:
            self.stop()
