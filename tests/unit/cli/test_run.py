"""`steer run`: which options reach the operators, and which are refused before anything runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli import run as command
from steersman.cli.failure import CommandFailed
from steersman.cli.loading import Loaded

PROGRAM = """
from steersman.objects.custom import CustomResource
from steersman.operator import Operator

class Tea(CustomResource, group="example.com", version="v1"):
    pass

teas = Operator(Tea)
"""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Loaded, Any]]:
    """What would have been run."""
    runs: list[tuple[Loaded, Any]] = []
    monkeypatch.setattr(command, "_run", lambda loaded, options: runs.append((loaded, options)))
    return runs


@pytest.fixture(autouse=True)
def same_logging() -> Iterator[None]:
    """The command sets up the root logger."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "brewing.py"
    file.write_text(PROGRAM)
    return str(file)


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(entry.app, ["run", *arguments])


def test_without_options(runs: list[tuple[Loaded, Any]], program: str) -> None:
    assert invoke(program).exit_code == 0
    [(loaded, options)] = runs
    [operator] = loaded.operators()
    assert operator.definition.namespaces == ()
    assert (options.kubeconfig, options.context, options.cluster) == (None, None, False)
    assert (options.install_crds, options.address) == (False, ":8080")


def test_namespaces_are_the_operators(runs: list[tuple[Loaded, Any]], program: str) -> None:
    assert invoke(program, "--namespace", "shop", "--namespace", "test").exit_code == 0
    [operator] = runs[0][0].operators()
    assert operator.definition.namespaces == ("shop", "test")


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        (["--kubeconfig", "/a/b"], "kubeconfig", Path("/a/b")),
        (["--context", "test"], "context", "test"),
        (["--cluster"], "cluster", True),
        (["--cluster"], "install_crds", True),
        (["--install-crds"], "install_crds", True),
        (["--metrics-bind", "[::1]:9090"], "address", "[::1]:9090"),
        (["--metrics-bind", "off"], "address", None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options(
    runs: list[tuple[Loaded, Any]], program: str, given: list[str], field: str, value: Any
) -> None:
    result = invoke(program, *given)
    assert result.exit_code == 0, result.exception
    assert getattr(runs[0][1], field) == value


def test_the_log_is_set_up(runs: list[tuple[Loaded, Any]], program: str) -> None:
    assert invoke(program, "--log-level", "error", "--log-format", "json").exit_code == 0
    assert logging.getLogger().level == logging.ERROR


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--metrics-bind", "8080"], "--metrics-bind: '8080' is no address like :8080 or 127.0.0.1:8080"),
        (
            ["--cluster", "--kubeconfig", "x"],
            "--cluster starts a cluster and cannot be used with --kubeconfig",
        ),
        (["--cluster", "--context", "x"], "--cluster starts a cluster and cannot be used with --context"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusals(runs: list[tuple[Loaded, Any]], program: str, given: list[str], said: str) -> None:
    result = invoke(program, *given)
    assert isinstance(result.exception, CommandFailed)
    assert (str(result.exception), result.exception.code) == (said, 2)
    assert runs == []
