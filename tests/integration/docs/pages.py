"""The pages under docs/ as the tests see them: their blocks of code, and what a reader makes of them.

A block that begins with a comment like `# webapp.py` is that file, and the blocks after it go on with it; what
comes before the first such block, or has none, is a module of tests. `await` is allowed outside of functions.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

from markdown_it import MarkdownIt

__all__ = [
    "DOCS",
    "PAGES",
    "README",
    "ROOT",
    "Block",
    "anchors",
    "blocks",
    "commands",
    "files",
    "links",
    "program",
]

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
#: Blocks of other pages are their authors' to run.
_FOLDERS = ("start", "guide", "recipes", "coming-from", "reference")
README = ROOT / "README.md"
PAGES = sorted([DOCS / "index.md", *(page for folder in _FOLDERS for page in (DOCS / folder).glob("*.md"))])

_markdown = MarkdownIt("commonmark").enable("table")
_file_name = re.compile(r"# ([a-z_]+)\.py$").match


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    code: str
    line: int


@cache
def _tokens(page: Path) -> list[Any]:
    return _markdown.parse(page.read_text())


def blocks(page: Path, language: str) -> list[Block]:
    """The fenced blocks of one language."""
    fences = [token for token in _tokens(page) if token.type == "fence"]
    return [
        Block(language, token.content, token.map[0] + 2)
        for token in fences
        if token.info.split()[:1] == [language]
    ]


def files(page: Path) -> dict[str, str]:
    """The files that a reader writes, by name; the numbers of their lines are the page's."""
    found: dict[str, str] = {}
    name = "test_page"
    for block in blocks(page, "python"):
        if named := _file_name(block.code.splitlines()[0]):
            name = named[1]
        before = found.get(name, "")
        # The line of the fence is there in any case.
        found[name] = before + "\n" * (block.line - 2 - before.count("\n")) + _plain(block)
    return found


def _plain(block: Block) -> str:
    """A block as it can stand in a module: one that awaits is a test, whose names others see."""
    if not _awaits(block):
        return f"\n{block.code}"
    names = {
        each.id if isinstance(each, ast.Name) else each.asname or each.name
        for each in ast.walk(ast.parse(block.code))
        if isinstance(each, ast.alias) or (isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    }
    declared = f"    global {', '.join(sorted(names))}\n" if names else ""
    return f"async def test_line_{block.line}():\n{declared}{indent(block.code, '    ')}"


def _awaits(block: Block) -> bool:
    code = compile(block.code, "", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _parsed(block: Block, page: Path) -> ast.Module:
    tree = ast.parse(block.code, str(page))
    return ast.increment_lineno(tree, block.line - 1)


@cache
def program(page: Path) -> ModuleType:
    """The page's Python blocks, executed."""
    name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
    module = ModuleType(name)
    module.__file__ = str(page)
    sys.modules[name] = module
    aliases: list[str] = []
    try:
        for block in blocks(page, "python"):
            if found := _file_name(block.code.splitlines()[0]):
                aliases.append(found[1])
                sys.modules[found[1]] = module
            _execute(block, page, module)
    finally:
        for alias in aliases:
            sys.modules.pop(alias, None)
    return module


def _execute(block: Block, page: Path, module: ModuleType) -> None:
    code = compile(_parsed(block, page), str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:

        async def run() -> None:
            await eval(code, module.__dict__)

        asyncio.run(run())
    else:
        exec(code, module.__dict__)


def commands(page: Path) -> Iterator[str]:
    """What the page has readers type into a shell: `$ …` lines, with those they continue on."""
    for block in (*blocks(page, "console"), *blocks(page, "sh")):
        lines = iter(block.code.splitlines())
        for line in lines:
            if block.language == "console" and not line.startswith("$ "):
                continue
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command = command[:-1] + next(lines)
            if command and not command.startswith("#"):
                yield command


def links(page: Path) -> Iterator[str]:
    """Where the page's links lead, as they are written."""
    for token in _tokens(page):
        for child in token.children or ():
            if child.type == "link_open":
                yield str(child.attrs["href"])


def anchors(page: Path) -> set[str]:
    """What a link can name after `#`."""
    titles = []
    for before, token in zip(_tokens(page), _tokens(page)[1:], strict=False):
        if before.type == "heading_open":
            titles.append("".join(child.content for child in token.children or ()))
    return {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles}
