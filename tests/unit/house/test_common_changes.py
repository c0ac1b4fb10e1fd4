"""The page for newcomers names files that exist, at most four for each change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_PAGE = _ROOT / "docs/contributing/common-changes.md"
_ROWS = [line.split("|")[1:3] for line in _PAGE.read_text().splitlines() if line.startswith("| [")]


def _files(cell: str) -> list[Path]:
    names = re.findall(r"`([\w./]+\.\w+)`", cell)
    return [
        _ROOT / name if name.startswith(("tests/", "docs/")) else _ROOT / "src/steersman" / name
        for name in names
    ]


def test_there_are_fourteen() -> None:
    assert len(_ROWS) == 14


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row[0].strip(" []").partition("]")[0])
def test_a_change_opens_few_files_and_all_of_them_exist(row: list[str]) -> None:
    files = _files(row[1])
    assert 1 <= len(files) <= 4
    assert [str(file) for file in files if not file.is_file()] == []
