"""A type checker sees right uses of the builders and of `steersman` as right, and each wrong one as wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.type_checker import checked

HERE = Path(__file__).parent

pytestmark = pytest.mark.slow

_reported = re.compile(r"^[^:]+:(\d+): error: .*\[([a-z-]+)\]$", re.MULTILINE)
_expected = re.compile(r"# error: ([a-z-]+)$")


def reported_errors(*names: str) -> list[tuple[int, str]]:
    """(line, code) of what mypy reports."""
    output = checked(*(HERE / name for name in names))
    return [(int(line), code) for line, code in _reported.findall(output)]


def test_right_uses_pass() -> None:
    assert reported_errors("builders_right.py") == []


def expected_errors(name: str) -> list[tuple[int, str]]:
    lines = (HERE / name).read_text().splitlines()
    return [(number, found[1]) for number, line in enumerate(lines, 1) if (found := _expected.search(line))]


@pytest.mark.parametrize("name", ["builders_wrong.py", "front_door.py"])
def test_every_wrong_use_is_an_error(name: str) -> None:
    assert reported_errors(name) == expected_errors(name)


def test_pyright_sees_the_names_of_the_front_door_too() -> None:
    program = shutil.which("pyright") or shutil.which("basedpyright")
    if program is None:
        pytest.skip("needs pyright, which is not among the test dependencies: it brings Node.js")
    command = [program, "--outputjson", "--level", "error", "--pythonpath", sys.executable]
    answer = subprocess.run([*command, str(HERE / "front_door.py")], capture_output=True, text=True)
    found = json.loads(answer.stdout)["generalDiagnostics"]
    lines = [each["range"]["start"]["line"] + 1 for each in found]
    assert lines == [line for line, _ in expected_errors("front_door.py")]
