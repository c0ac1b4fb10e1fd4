"""What a newcomer does first, as the user a newcomer is: not root, in a home with a space in a folder's name, with
the Python that the machine came with.

Tests run as root elsewhere, on machines of build services above all; what differs without root would be seen there
by nobody.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.docs.pages import ROOT
from tests.support.ordinary_user import OrdinaryUser, none_can_be_made, ordinary_user

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(none_can_be_made()), reason=none_can_be_made()),
]

#: Nothing takes this long, on a busy machine either; what does hangs.
DEADLINE_S = 800.0
#: Which are everybody's.
FOLDERS = ("/usr/bin", "/usr/local/bin")
NAMES = ("python3", "python3.13", "python3.12", "python3.11")
#: What is made in the folder, and no part of it.
MADE = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis", "_table.*")
MADE_AT_THE_TOP = {".git", ".venv", "site"}
#: Whether port 80 may be had without root, as some machines are set up.
ASK_FOR_PORT_80 = """
import socket
try:
    socket.socket().bind(("127.0.0.1", 80))
except PermissionError:
    print("no")
"""
#: What differs without root.
DIFFERENT = (
    "tests/integration/proxy",
    "tests/integration/nodes/process/test_low_ports.py",
    "tests/unit/cluster/machine",
    "tests/unit/election/test_redis_address.py",
    "tests/integration/docs/test_projects.py::test_its_python_runs_in_a_project_of_its_reader[README.md]",
    "tests/e2e/test_documented_sessions.py",
)


@dataclass(frozen=True)
class Newcomer:
    user: OrdinaryUser
    folder: Path
    python: str

    def run(self, *command: str) -> str:
        """What a command prints, which has to succeed."""
        done = self.user.run(self.folder, *command, timeout_s=DEADLINE_S)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def make(self, target: str) -> str:
        return self.run("make", f"PYTHON={self.python}", target)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    _need_packages(tmp_path_factory.mktemp("packages"))
    with ordinary_user() as user:
        folder = user.home / "my code" / "steersman"
        shutil.copytree(ROOT, folder, ignore=_made)
        user.give(user.home)
        yield Newcomer(user, folder, _python(user, folder))


def _need_packages(folder: Path) -> None:
    """The first thing that a newcomer's `make` has pip fetch."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "pip"]
    if subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=False).returncode:
        pytest.skip("no packages can be downloaded")


def _made(folder: str, names: list[str]) -> set[str]:
    return MADE(folder, names) | (MADE_AT_THE_TOP if Path(folder) == ROOT else set())


def _python(user: OrdinaryUser, folder: Path) -> str:
    """One that is good for Steersman."""
    for path in (f"{place}/{name}" for place in FOLDERS for name in NAMES):
        if Path(path).exists():
            done = user.run(folder, path, "scripts/check_python.py", timeout_s=DEADLINE_S)
            if done.returncode == 0:
                return path
    pytest.skip("no Python 3.11 to 3.13 with venv that everybody can run")


def test_the_demo_comes_to_its_end(newcomer: Newcomer) -> None:
    lines = newcomer.make("demo").splitlines()
    where = next(line for line in lines if line.startswith("The app answers at "))
    kept = newcomer.run(newcomer.python, "-c", ASK_FOR_PORT_80)
    assert re.fullmatch(r"The app answers at http://127\.[\d.]+" + (r":8080\." if kept else r"\."), where)
    assert lines[-2] == "The demo is over."
    assert re.match(r"[1-9]\d* requests were answered", lines[-1]), lines[-1]


def test_a_wheel_has_all_there_is(newcomer: Newcomer) -> None:
    newcomer.make(".venv/demo")
    newcomer.run(".venv/bin/pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "wheels", ".")
    [wheel] = (newcomer.folder / "wheels").iterdir()
    sources = newcomer.folder / "src"
    there = {str(path.relative_to(sources)) for path in (sources / "steersman").rglob("*") if path.is_file()}
    assert {name for name in there if not name.endswith(".pyc")} - set(
        zipfile.ZipFile(wheel).namelist()
    ) == set()


def test_what_differs_without_root_is_as_it_should_be(newcomer: Newcomer) -> None:
    newcomer.make(".venv/dev")
    newcomer.run(".venv/bin/pytest", *DIFFERENT)
