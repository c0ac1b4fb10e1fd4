"""The directive `command-line`: every command of `steer` with what its `--help` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from steersman.cli.app import app as steer

_WIDTH = 92


class CommandLine(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [part for words in command_names() for part in self._described(words)]

    def _described(self, words: tuple[str, ...]) -> list[nodes.Node]:
        name = " ".join(("steer", *words))
        title = nodes.rubric("", name, ids=[nodes.make_id(name)])
        return [title, nodes.literal_block(help_of(words), help_of(words), language="none")]


def command_names() -> Iterator[tuple[str, ...]]:
    """All commands, each as the words after `steer`; the command itself is the empty one."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield words
        for name, child in getattr(command, "commands", {}).items():
            yield from below(child, (*words, name))

    return below(typer.main.get_command(steer), ())


def help_of(words: tuple[str, ...]) -> str:
    result = CliRunner().invoke(steer, [*words, "--help"], prog_name="steer", terminal_width=_WIDTH)
    return result.output.strip()


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
