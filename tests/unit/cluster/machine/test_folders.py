"""Folders that clusters keep things in."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.cluster.machine.folders import data_folder


@pytest.mark.parametrize("given", ["deep/data", "./deep/data", Path("deep/data")])
def test_a_folder_stays_where_it_was_when_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | Path
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = data_folder(given)
    monkeypatch.chdir("/")
    assert folder == tmp_path / "deep/data"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert list(data_folder(tmp_path).iterdir()) == [tmp_path / "file"]
