"""`steer` is interrupted at moments spread over its start: nothing is said but what people need, nothing is left.

The moments are counted in steps of the interpreter (files opened, modules loaded, processes started, …), so they
are the same however busy the machine is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.steer import DEADLINE_S
from tests.support.waiting import soon

pytestmark = pytest.mark.slow

#: Sends itself the signal at a step of its life, or says how many there were.
_CHILD = """
import atexit, os, sys
number, at, *sys.argv = sys.argv[1:]
count = 0
def step(*_):
    global count
    count += 1
    if count == int(at):
        os.kill(os.getpid(), int(number))
from steersman.cli import main
sys.addaudithook(step)
if at == "0":
    atexit.register(lambda: os.write(2, b"%d" % count))
main()
"""
_MOMENTS = 10
#: Something that was not told to end goes on for longer than this.
_GONE_S = 4.0

COMMANDS = {
    "up": ("up", "--data", "{folder}/cluster", "--port", "0"),
    "up in memory": ("up", "--data", ":memory:", "--port", "0"),
    "demo": ("demo", "--for", "0", "--pause", "0"),
    "run": ("run", "{folder}/shop.py", "--cluster", "--metrics-bind", "off"),
}
MODULE = """
from steersman.objects.custom import CustomResource, Model
from steersman.operator import Context, Operator

class WebApp(CustomResource, group="example.com", version="v1"):
    spec: Model

op = Operator(WebApp)

@op.reconcile
async def reconcile(ctx: Context[WebApp]) -> None:
    pass
"""


def environment(folder: Path) -> Mapping[str, str]:
    for name in ("tmp", "state"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "shop.py").write_text(MODULE)
    return {**os.environ, "TMPDIR": str(folder / "tmp"), "XDG_STATE_HOME": str(folder / "state")}


def started(command: str, folder: Path, number: int, at: int) -> subprocess.Popen[str]:
    arguments = [each.format(folder=folder) for each in COMMANDS[command]]
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(number), str(at), "steer", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(folder),
    )


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, int]:
    """How many steps each command takes that is not disturbed before it does what it is for."""
    found = {}
    for command in COMMANDS:
        process = started(command, tmp_path_factory.mktemp("whole"), 0, 0)
        assert process.stdout is not None
        assert process.stdout.readline()
        if command != "demo":
            process.terminate()
        found[command] = int(process.communicate(timeout=2 * DEADLINE_S)[1].split()[-1])
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("moment", range(_MOMENTS))
@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupted_command_leaves_nothing(
    command: str, moment: int, number: signal.Signals, steps: Mapping[str, int], tmp_path: Path
) -> None:
    process = started(command, tmp_path, number, 1 + steps[command] * moment // _MOMENTS)
    said, complaints = process.communicate(timeout=2 * DEADLINE_S)
    assert "Traceback" not in said + complaints
    assert "rror" not in complaints
    # What was up was stopped in order; what was not, was ended.
    assert process.returncode in ({0, 128 + number} if said else {128 + number})
    assert wait_gone(tmp_path) == []


def wait_gone(folder: Path) -> Sequence[str]:
    """What is left after the time in which everything should have gone."""
    with suppress(AssertionError):
        soon(lambda: not left_of(folder), _GONE_S, every_s=0.02)
    return left_of(folder)


def left_of(folder: Path) -> list[str]:
    """Processes, mounts and temporary files that have to do with the folder."""
    name = str(folder)
    left = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if name in line]
    left += [file.name for file in (folder / "tmp").iterdir()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if name.encode() in command or name.encode() in (process / "environ").read_bytes():
                left.append(command.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # gone, or somebody else's
    return left
