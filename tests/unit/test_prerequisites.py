"""What a machine lacks to build the environment is said in one line that names what to install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "scripts" / "check_python.py"
#: Runs the check as another Python would.
_PRETEND = """
import importlib.util, runpy, sys
missing, sys.version_info = sys.argv[1], eval(sys.argv[2])
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == missing else find(name)
runpy.run_path(sys.argv[3])
"""


@pytest.mark.parametrize(
    ("missing", "version", "said"),
    [
        ("", (3, 11, 2), ""),
        ("", (3, 13, 9), ""),
        (
            "",
            (3, 10, 1),
            "Steersman needs Python 3.11 to 3.13, this is 3.10.1; try: make PYTHON=python3.12 …",
        ),
        (
            "",
            (3, 14, 0),
            "Steersman needs Python 3.11 to 3.13, this is 3.14.0; try: make PYTHON=python3.12 …",
        ),
        ("ensurepip", (3, 11, 2), "apt-get install python3-venv"),
        ("venv", (3, 11, 2), "apt-get install python3-venv"),
    ],
    ids=["3.11", "3.13", "too old", "too new", "no ensurepip", "no venv"],
)
def test_what_python_lacks(missing: str, version: tuple[int, int, int], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PRETEND, missing, str(version), str(CHECK)], capture_output=True, text=True
    )
    assert (done.returncode == 0) is (said == "")
    assert done.stderr.rstrip().endswith(said)
    assert done.stderr.count("\n") == (1 if said else 0)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    done = subprocess.run(
        ["make", "-s", "-f", str(ROOT / "Makefile"), ".venv/python", "PYTHON=python3.99"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
    )
    assert done.returncode != 0
    first, _ = done.stderr.split("\n", 1)
    assert first == "there is no python3.99; on Debian and Ubuntu: apt-get install python3 python3-venv"
    assert not (folder / ".venv").exists()
