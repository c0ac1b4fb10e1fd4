"""The source files of this repository, for the tests that check what its documents promise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["ROOT", "called", "calls", "python_files", "text", "tree"]

ROOT = Path(__file__).parents[3]


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    return tuple(sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")))


@cache
def text(path: Path) -> str:
    return path.read_text()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), str(path))


def calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    """Every call in a file, with what is called: `asyncio.sleep`, `group.create_task`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            yield node, called(node)


def called(call: ast.Call) -> str:
    return ast.unparse(call.func)
