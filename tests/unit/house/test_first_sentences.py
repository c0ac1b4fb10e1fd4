"""Modules and classes introduce themselves in Kubernetes' and Python's words: literal sentences, no riddles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.house.sources import ROOT, python_files, tree

CLUSTER = "src/steersman/cluster"
ROOMS = (
    "admission",
    "auth",
    "cel",
    "cloud",
    "codec",
    "controllers",
    "dns",
    "machine",
    "metrics_api",
    "node",
    "proxy",
    "scheduler",
    "store",
)
RIDDLES = re.compile(
    r"\b(somebody|nobody|whoever|anybody|everybody|whom|told|telling|stumbles?|looks? after|what becomes of)\b",
    re.IGNORECASE,
)


def first_sentences(path: Path) -> Iterator[tuple[str, str]]:
    """The module and its classes by name, with their first sentences (empty without a docstring)."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef):
            name = node.name if isinstance(node, ast.ClassDef) else ""
            yield name, re.split(r"\.(?:\s|$)|\n\n", ast.get_docstring(node) or "", maxsplit=1)[0]


def riddles(path: Path) -> list[str]:
    label = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
    return [
        f"{label} {name}: {sentence}"
        for name, sentence in first_sentences(path)
        if RIDDLES.search(sentence) or (not name and not sentence)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_first_sentences_are_literal(room: str) -> None:
    assert [line for path in python_files(f"{CLUSTER}/{room}") for line in riddles(path)] == []


def test_a_riddle_and_a_missing_docstring_are_found(tmp_path: Path) -> None:
    riddle, silent = tmp_path / "riddle.py", tmp_path / "silent.py"
    riddle.write_text('"""A module."""\n\n\nclass Thing:\n    """What nobody knows."""\n')
    silent.write_text("x = 1\n")
    assert riddles(riddle) == ["riddle.py Thing: What nobody knows"]
    assert riddles(silent) == ["silent.py : "]
