"""The texts that users read: messages in the source code, help pages, the dashboard and the documentation.

Texts are found in the syntax trees of `src`, so a message is checked as soon as it is written:

| where                                        | which texts                                                   |
|----------------------------------------------|---------------------------------------------------------------|
| modules of `src`                             | strings, except docstrings, names and what is compared         |
| modules in `SHOWN`                           | the docstrings of fields and of commands, too                 |
| documentation, templates of the dashboard    | the text without blocks and spans of code                     |
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.unit.house.sources import ROOT, python_files, text, tree

__all__ = ["Text", "messages", "pages"]

#: Modules whose docstrings become help pages, JSON schemas and descriptions of the API.
SHOWN = ("cli/", "highlander/api/routes.py", "highlander/config/")
PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md", "src/steersman/highlander/dashboard/*")
_code = re.compile(
    r"^(`{3,}).*?^\1|^(?: {4}|\t).*?$|`[^`\n]+`|\]\([^)\s]+\)|<[^>]+>", re.MULTILINE | re.DOTALL
)


class Text(NamedTuple):
    """One line of a text, and where it is."""

    place: str
    line: str


@cache
def messages() -> tuple[Text, ...]:
    """The messages in the source code, by file and line."""
    return tuple(each for path in python_files("src") for each in _messages_of(path))


def _messages_of(path: Path) -> Iterator[Text]:
    name = path.relative_to(ROOT)
    for node in _visible(path):
        for offset, line in enumerate(str(node.value).splitlines()):
            yield Text(f"{name}:{node.lineno + offset}", line)


def _visible(path: Path) -> Iterator[ast.Constant]:
    nodes = list(ast.walk(tree(path)))
    hidden = {*_docstrings(nodes, shown=_is_shown(path)), *_names(nodes)}
    for node in nodes:
        if node not in hidden and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node


def _is_shown(path: Path) -> bool:
    return str(path.relative_to(ROOT / "src/steersman")).startswith(SHOWN)


def _docstrings(nodes: Iterable[ast.AST], *, shown: bool) -> Iterator[ast.expr]:
    """The docstrings that no user reads. In shown modules, users read those of fields and of commands."""
    for node in nodes:
        body = getattr(node, "body", None)
        statements = body if isinstance(body, list) else []
        for statement in statements[:1] if shown else statements:
            if isinstance(statement, ast.Expr) and not (shown and _is_help(statement.value)):
                yield statement.value


def _names(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Strings that are compared, or exported: names in the code, which no user reads."""
    for node in nodes:
        exports = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        if exports or isinstance(node, ast.Compare):
            yield from ast.walk(node)


def _is_help(docstring: ast.expr) -> bool:
    """Every help page of a command has an example (tests/unit/cli/test_help.py)."""
    return isinstance(docstring, ast.Constant) and "Example" in str(docstring.value)


def pages() -> Iterator[Text]:
    """The prose of the documentation and of the dashboard, by file and line."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.suffix in (".md", ".html", ".js"):
                yield from _prose(path)


def _prose(path: Path) -> Iterator[Text]:
    name = path.relative_to(ROOT)
    prose = (
        _code.sub(lambda found: "\n" * found[0].count("\n"), text(path))
        if path.suffix == ".md"
        else text(path)
    )
    for number, line in enumerate(prose.splitlines(), 1):
        yield Text(f"{name}:{number}", line)
