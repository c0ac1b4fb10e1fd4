"""`steer image` as its users run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from steersman.cli.app import app
from steersman.cli.failure import CommandFailed


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
    with pytest.raises(CommandFailed, match=r"^.*/nowhere is no folder$"):
        steer("add", "shop", str(tmp_path / "nowhere"))
    with pytest.raises(CommandFailed, match=r"^there is no image 'shop'; see `steer image list`$"):
        steer("remove", "shop")
    (tmp_path / "image.json").write_text('{"entrypoint": 5}')
    with pytest.raises(CommandFailed, match=r"image\.json: Expected `array`, got `int`"):
        steer("add", "shop", str(tmp_path))
