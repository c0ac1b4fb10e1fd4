"""`--help` of every command: says what it does in a line, shows an example, and fits into a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from steersman.cli.app import app

WIDTH = 80


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*words, name))


ALL = list(commands(typer.main.get_command(app)))


@pytest.fixture(params=ALL, ids=lambda words: " ".join(words) or "steer")
def help_text(request: pytest.FixtureRequest) -> str:
    words = [*request.param, "--help"]
    result = CliRunner().invoke(app, words, prog_name="steer", terminal_width=WIDTH)
    assert result.exit_code == 0
    return result.output


def test_there_is_an_example(help_text: str) -> None:
    assert re.search(r"Examples?:\s+(steer|kubectl|export) ", help_text)


def test_it_fits_into_a_terminal(help_text: str) -> None:
    assert [line for line in help_text.splitlines() if len(line) > WIDTH] == []


def test_summaries_of_commands_are_whole(help_text: str) -> None:
    assert [line for line in help_text.splitlines()[1:] if line.endswith("...")] == []
