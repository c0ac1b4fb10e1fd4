"""A type checker sees right uses of the builders as right and each wrong one as wrong."""

from __future__ import annotations

import re
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


def test_every_wrong_use_is_an_error() -> None:
    lines = (HERE / "builders_wrong.py").read_text().splitlines()
    expected = [
        (number, found[1]) for number, line in enumerate(lines, 1) if (found := _expected.search(line))
    ]
    assert reported_errors("builders_wrong.py") == expected
