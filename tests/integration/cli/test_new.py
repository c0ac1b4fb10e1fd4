"""`steer new`: what it makes passes its own checks, with the interpreter at hand and no network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed

PATIENCE_S = 110.0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "tea"
    arguments = ["new", "tea-shop-operator", "--group", "tea.example.com", "--dir", str(folder)]
    result = CliRunner().invoke(entry.app, arguments)
    assert result.exit_code == 0, result.exception
    said = f"{folder} is an operator for TeaShop. Next:\n  cd {folder} && make install check"
    # From a checkout, as here, it says where that is: no index may have the package.
    assert result.stdout.startswith(said)
    return folder


def run(folder: Path, *command: str) -> str:
    """A module of Python as `make check` runs it."""
    environment = {**os.environ, "PYTHONPATH": "src", "MYPY_CACHE_DIR": str(folder / ".mypy_cache")}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "check",
    [
        ("ruff", "format", "--check", "."),
        ("ruff", "check", "."),
        ("mypy",),
        ("pytest", "-q", "-p", "no:cacheprovider"),
    ],
    ids=["format", "lint", "types", "tests"],
)
def test_its_own_checks_pass(project: Path, check: tuple[str, ...]) -> None:
    run(project, *check)


def test_it_can_be_deployed(project: Path) -> None:
    made = run(project, "steersman.cli", "manifests", "tea_shop.operator", "--image", "tea:1")
    assert "kind: Deployment" in made
    assert "teashops.tea.example.com" in made


def test_the_image_does_not_run_as_root(project: Path) -> None:
    assert "\nUSER 65532:65532\n" in (project / "Dockerfile").read_text()


def test_nothing_is_overwritten(project: Path) -> None:
    result = CliRunner().invoke(entry.app, ["new", "tea-shop", "--dir", str(project)])
    assert isinstance(result.exception, CommandFailed)
    assert str(result.exception) == f"{project} already exists and is not empty"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Tea"], "'Tea' is not a valid project name: use lower-case letters, digits and dashes"),
        (
            ["json-operator"],
            "'json-operator' is not a valid project name: the standard library has the module 'json'",
        ),
        (["tea", "--kind", "tea pot"], "'tea pot' is not a valid kind"),
        (["tea", "--group", "no group"], "no group"),
    ],
)
def test_names_that_cannot_be(arguments: list[str], said: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(entry.app, ["new", *arguments, "--dir", str(tmp_path / "x")])
    assert isinstance(result.exception, CommandFailed)
    assert said in str(result.exception)
    assert not (tmp_path / "x").exists()
