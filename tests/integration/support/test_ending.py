"""A test run that is interrupted or killed leaves nothing running, whatever it had started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.ending import MARK, _tell, marked
from tests.support.waiting import soon

ROOT = Path(__file__).parents[3]
#: Nothing takes this long; what does hangs.
DEADLINE_S = 90.0
_OWN_MARK = "STEERSMAN_TEST_OF_ENDING"

RUN = """
import asyncio, os, subprocess, sys, threading
from contextlib import ExitStack
from pathlib import Path

from steersman.objects.resource_type import ResourceType
from steersman.testing import Cluster, eventually
from tests.support import browser
from tests.support.ending import MARK
from tests.support.postgres_server import postgres_server
from tests.support.redis_server import redis_server
from tests.support.steer import running

FOLDER = Path(__file__).parent
PODS = ResourceType("", "v1", "Pod", "pods")
# A container whose first process has children, one of them in a session of its own.
SCRIPT = "import subprocess; subprocess.Popen(['sleep', '987'], start_new_session=True); import time; time.sleep(986)"


async def pod_runs(client):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {
        "containers": [{"name": "a", "image": "host/python3", "args": ["-c", SCRIPT]}]}}
    await client.create(pod)

    async def is_running():
        return (await client.get(PODS, "a"))["status"]["phase"] == "Running"

    await eventually(is_running, 60)


async def browse():
    if browser.CHROMIUM:
        async with browser.browser():
            started.release()
            await asyncio.Event().wait()
    started.release()


started = threading.Semaphore(0)


def test_everything():
    with ExitStack() as stack:
        stack.enter_context(redis_server())
        stack.enter_context(postgres_server())
        stack.enter_context(running("--nodes=1", "--runtime=process"))
        cluster = stack.enter_context(Cluster(controllers=("all",), process_nodes=1))
        cluster.run(pod_runs(cluster.client()))
        threading.Thread(target=lambda: asyncio.run(browse()), daemon=True).start()
        assert started.acquire(timeout=60)
        FOLDER.joinpath("ready.part").write_text(f"{os.getpid()} {os.environ[MARK]}")
        FOLDER.joinpath("ready.part").rename(FOLDER / "ready")
        threading.Event().wait()
"""


class Run:
    """A run of pytest that has started everything; `tester` is the process that runs the test."""

    def __init__(self, folder: Path, *options: str) -> None:
        (folder / "test_everything.py").write_text(RUN)
        self.mark = f"{_OWN_MARK}={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-p", "tests.support.ending", "-p", "no:asyncio", *options],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), name: value},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.tester = 0
        self.started: dict[int, str] = {}
        self._ready = folder / "ready"

    def wait_ready(self) -> None:
        ready = self._ready
        self._wait(lambda: ready.exists() or self.process.poll() is not None)
        assert ready.exists(), self.log.read_text()
        pid, numbers = ready.read_text().split()
        self.tester = int(pid)
        found = {*marked(self._own_number(numbers)), *self._with_mark()}
        self.started = {pid: _born(pid) for pid in found}

    def _own_number(self, numbers: str) -> int:
        """The number of the run itself: a worker of it has one more, and this test's own run one before."""
        around = len([each for each in os.environ.get(MARK, "").split(",") if each])
        return int(numbers.split(",")[around])

    def _with_mark(self) -> Iterator[int]:
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if folder.name.isdigit() and self.mark.encode() in (folder / "environ").read_bytes():
                    yield int(folder.name)

    def names(self) -> set[str]:
        """What was started, as `ps` shows it."""
        return {Path(f"/proc/{pid}/comm").read_text().strip() for pid in self.started}

    def left(self) -> list[str]:
        """What still runs of it."""
        same = [pid for pid, born in self.started.items() if born and _born(pid) == born]
        return [
            f"{pid} {_said(pid)}"
            for pid in {*same, *self._with_mark()}
            if pid != self.process.pid and _born(pid)
        ]

    def wait_gone(self) -> None:
        self.process.wait(DEADLINE_S)
        self._wait(lambda: not self.left())

    def _wait(self, condition: Callable[[], bool]) -> None:
        soon(condition, DEADLINE_S, lambda _: f"{self.left()}\n{self.log.read_text()}")


def _born(pid: int) -> str:
    """When it was started; nothing if it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    return ""


def _said(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:150]
    return ""


@contextmanager
def started(folder: Path, *options: str) -> Iterator[Run]:
    run = Run(folder, *options)
    try:
        run.wait_ready()
        yield run
    finally:
        run.process.kill()
        run.process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name
)
def test_nothing_outlives_a_run_that_is_ended(folder: Path, number: signal.Signals) -> None:
    with started(folder) as run:
        assert {"redis-server", "postgres", "steer", "sleep", "keeper-guardian"} <= run.names()
        run.process.send_signal(number)
        run.wait_gone()


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["worker", "main"])
def test_nothing_outlives_a_killed_run_with_workers(folder: Path, whom: str) -> None:
    with started(folder, "-n", "1", "--max-worker-restart", "0") as run:
        assert run.tester != run.process.pid
        os.kill(run.tester if whom == "worker" else run.process.pid, signal.SIGKILL)
        run.wait_gone()


def test_a_stranger_that_has_got_the_pid_of_one_that_was_looked_at_is_left_alone() -> None:
    own = int(os.environ[MARK].rpartition(",")[2])
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stranger:
        _tell(stranger.pid, own - 1, signal.SIGKILL)
        assert stranger.stdin is not None
        stranger.stdin.close()
        assert stranger.wait(DEADLINE_S) == 0
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as ours:
        _tell(ours.pid, own, signal.SIGKILL)
        assert ours.wait(DEADLINE_S) == -signal.SIGKILL
