"""`steer run --dev`: a change of the code is in effect soon, and nothing is left running."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman.cli.failure import CommandFailed
from steersman.cli.reloading import changed_file, files_of, root_of
from tests.support.processes import has_ended
from tests.support.steer import DEADLINE_S, STEER

PROGRAM = """
import os
from steersman.objects.custom import CustomResource
from steersman.operator import Context, Operator

class Tea(CustomResource, group="dev.example.com", version="v1"):
    pass

op = Operator(Tea)

@op.reconcile
async def reconcile(ctx: Context[Tea]) -> None: ...

print("version", {version}, os.getpid(), flush=True)
"""


class Session:
    """A running `steer run --dev` and the lines it and its children write."""

    def __init__(self, file: Path) -> None:
        command = [str(STEER), "run", "--dev", "--cluster", "--metrics-bind", "off", str(file)]
        # As most users have it: Python may keep the bytecode of what it loads.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def line(self, *parts: str) -> str:
        """The next line that has all of these."""
        seen: list[str] = []
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{parts} was not said, but: {''.join(seen)}") from None
            seen.append(line)
            if all(part in line for part in parts):
                return line

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "brewing.py"
    file.write_text(PROGRAM.replace("{version}", "1"))
    return file


@pytest.fixture
def session(file: Path) -> Iterator[Session]:
    session = Session(file)
    try:
        yield session
    finally:
        session.close()


def test_changes_take_effect_and_mistakes_are_survived(session: Session, file: Path) -> None:
    first = int(session.line("version 1").split()[-1])
    session.line("running teas.dev.example.com")
    file.write_text(PROGRAM.replace("{version}", "2"))
    session.line("brewing.py has changed: restarting")
    session.line("version 2")
    assert has_ended(first)
    file.write_text("this is no Python")
    session.line("steer: ", "brewing.py", "SyntaxError")
    session.line("waiting for a change")
    file.write_text(PROGRAM.replace("{version}", "3"))
    last = int(session.line("version 3").split()[-1])
    session.line("running teas.dev.example.com")
    session.process.send_signal(signal.SIGINT)
    assert session.process.wait(DEADLINE_S) == 0
    assert has_ended(last)


def test_a_change_of_the_same_second_and_size_takes_effect(session: Session, file: Path) -> None:
    second_ns = time.time_ns() // 10**9 * 10**9
    session.line("version 1")
    for version in (2, 3):
        changed = file.with_suffix(".new")
        changed.write_text(PROGRAM.replace("{version}", str(version)))
        os.utime(changed, ns=(second_ns + version, second_ns + version))
        changed.replace(file)
        session.line(f"version {version}")
        session.line("running teas.dev.example.com")


def test_what_is_a_change(tmp_path: Path) -> None:
    package = tmp_path / "package"
    for name in ("a.py", "b/c.py", ".venv/d.py", "__pycache__/e.py", "notes.txt"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    before = files_of(package)
    assert {file.name for file in before} == {"a.py", "c.py"}
    assert changed_file(before, before) is None
    assert changed_file(before, {**before, package / "a.py": 1}) == package / "a.py"
    assert changed_file(before, {package / "a.py": before[package / "a.py"]}) == package / "b" / "c.py"
    assert changed_file({}, before) is not None


@pytest.mark.parametrize("module", ["nowhere", "nowhere.at.all:op", "no/such/file.py"])
def test_a_module_that_is_not_there_is_said_at_once(module: str) -> None:
    with pytest.raises(CommandFailed, match=r"there is no such file|neither in this folder nor installed"):
        root_of(module)
