"""`steer run`: which options reach the operators, and which are refused before anything runs."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli import run as command
from steersman.cli.failure import CommandFailed
from steersman.cli.installing import wants_installed
from steersman.cli.loading import Loaded, load
from steersman.client import NoSuchKind
from steersman.election import RedisLock

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
    assert (options.install_crds, options.settings.address) == (False, ":8080")


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
        (["--install"], "install_crds", True),
        (["--metrics-bind", "[::1]:9090"], "settings.address", "[::1]:9090"),
        (["--metrics-bind", "off"], "settings.address", None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options(
    runs: list[tuple[Loaded, Any]], program: str, given: list[str], field: str, value: Any
) -> None:
    result = invoke(program, *given)
    assert result.exit_code == 0, result.exception
    assert attrgetter(field)(runs[0][1]) == value


def test_the_log_is_set_up(runs: list[tuple[Loaded, Any]], program: str) -> None:
    assert invoke(program, "--log-level", "error", "--log-format", "json").exit_code == 0
    assert logging.getLogger().level == logging.ERROR


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--metrics-bind", "8080"],
            "--metrics-bind: '8080' is not an address such as :8080 or 127.0.0.1:8080",
        ),
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


def test_an_election_for_an_operator_that_declares_none(
    runs: list[tuple[Loaded, Any]], program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEERSMAN_LOCK_URL", "redis://store:6379")
    assert invoke(program, "--ha", "redis", "--name", "teas").exit_code == 0
    [operator] = runs[0][0].operators()
    assert operator.definition.election == RedisLock("redis://store:6379", "teas")


def test_a_raft_node_listens_where_the_environment_says(
    runs: list[tuple[Loaded, Any]], program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEERSMAN_RAFT_HOST", "127.0.0.7")
    assert invoke(program, "--ha", "raft").exit_code == 0
    [operator] = runs[0][0].operators()
    settings = operator.definition.election.settings
    assert (settings.listen, settings.http) == ("127.0.0.7:7100", "127.0.0.7:8081")


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("luck", "--ha luck: choose none, lease, raft, redis, postgres"),
        ("redis", "--ha redis needs the address of its store in STEERSMAN_LOCK_URL"),
    ],
)
def test_elections_that_cannot_be(
    runs: list[tuple[Loaded, Any]], program: str, engine: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STEERSMAN_LOCK_URL", raising=False)
    result = invoke(program, "--ha", engine)
    assert isinstance(result.exception, CommandFailed)
    assert str(result.exception) == said
    assert runs == []


class Api:
    """An API that serves no custom resource."""

    host = "example.com:6443"

    async def resource_type(self, api_version: str, kind: str) -> None:
        raise NoSuchKind(api_version, kind)


@pytest.mark.parametrize("answer", [True, False])
def test_who_sits_at_the_terminal_is_asked_about_missing_definitions(
    answer: bool, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def confirm(question: str, **_: Any) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr(typer, "confirm", confirm)
    client: Any = Api()
    operators = load(program).operators()
    assert not asyncio.run(wants_installed(client, operators))
    assert asked == []
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert asyncio.run(wants_installed(client, operators)) is answer
    assert asked == ["The API at example.com:6443 does not serve Tea of example.com/v1. Install it?"]
