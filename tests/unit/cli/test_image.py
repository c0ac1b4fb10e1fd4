"""`steer image` as its users run it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steersman.cli.app import app
from steersman.cli.failure import CommandFailed
from tests.support.steer import STEER


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def steer(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["image", *arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_a_folder_is_an_image_until_it_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "page.html").write_text("hello")
    assert steer("add", "shop", str(folder)) == f"shop is {folder}\n"
    assert json.loads(steer("list", "--output", "json")) == [
        {"name": "shop:latest", "folder": str(folder), "sizeBytes": 5}
    ]
    assert steer("list") == f"shop:latest\t{folder}\n"
    steer("remove", "shop:latest")
    assert steer("list") == ""
    assert folder.exists()


def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"^.*/nowhere is not a folder$"):
        steer("add", "shop", str(tmp_path / "nowhere"))
    with pytest.raises(CommandFailed, match=r"^there is no image 'shop'; see `steer image list`$"):
        steer("remove", "shop")
    (tmp_path / "image.json").write_text('{"entrypoint": 5}')
    with pytest.raises(CommandFailed, match=r"image\.json: Expected `array`, got `int`"):
        steer("add", "shop", str(tmp_path))


def test_how_it_is_run_can_be_said(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    steer(
        "add", "shop", str(folder), "--command", "python3 '/my server.py'", "--args", "--port 80",
        "--env", "A=1", "--env", "B=x=y", "--user", "7:8", "--workdir", "/srv",
    )  # fmt: skip
    kept = json.loads((tmp_path / "state/steersman/images.json").read_bytes())["shop:latest"]
    assert kept["config"] == {
        "entrypoint": ["python3", "/my server.py"],
        "cmd": ["--port", "80"],
        "env": {"A": "1", "B": "x=y"},
        "user": "7:8",
        "workingDir": "/srv",
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--env", "A"), "--env: 'A' is not NAME=VALUE"),
        (("--env", "=1"), "--env: '=1' is not NAME=VALUE"),
        (("--command", "sh 'x"), "--command: No closing quotation: sh 'x"),
    ],
)
def test_what_cannot_be_understood_is_said(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandFailed) as failed:
        steer("add", "shop", str(tmp_path), *options)
    assert (str(failed.value), failed.value.code) == (words, 2)


def test_somebody_at_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "page.html").write_text("hello")
    ours, theirs = pty.openpty()
    command = [str(STEER), "image", "add", "shop", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"1 files, 5 bytes" in shown
    assert done.stdout.decode() == f"shop is {folder}\n"
