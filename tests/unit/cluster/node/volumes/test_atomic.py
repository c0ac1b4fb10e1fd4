"""Files that change all at once."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from steersman.cluster.node.volumes.atomic import BadPath, File, write_files

NOW = 1_780_000_000.0


def files(**texts: str) -> dict[str, File]:
    return {path.replace("__", "/"): File(text.encode(), 0o644) for path, text in texts.items()}


def seen(folder: Path) -> dict[str, str]:
    """What a program that does not know of links sees."""
    found = {}
    for where, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith("..")]
        for path in (Path(where) / name for name in names):
            found[str(path.relative_to(folder))] = path.read_text()
    return found


def test_files_are_links_into_a_folder_that_is_named_after_the_time(tmp_path: Path) -> None:
    assert write_files(tmp_path, files(a="1", b__c__d="2"), now=NOW)
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert os.readlink(tmp_path / "b") == "..data/b"
    stamped = os.readlink(tmp_path / "..data")
    assert re.fullmatch(r"\.\.2026_05_28_20_26_40\.\w+", stamped)
    assert sorted(os.listdir(tmp_path)) == sorted(["..data", stamped, "a", "b"])
    assert seen(tmp_path) == {"a": "1", "b/c/d": "2"}


def test_the_same_files_are_not_written_again(tmp_path: Path) -> None:
    write_files(tmp_path, files(a="1"), now=NOW)
    before = os.readlink(tmp_path / "..data")
    assert not write_files(tmp_path, files(a="1"), now=NOW + 1)
    assert os.readlink(tmp_path / "..data") == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": "1"}, {"a": "2"}),
        ({"a": "1"}, {"a": "1", "b": "2"}),
        ({"a": "1", "b": "2"}, {"a": "1"}),
        ({"a": "1", "d__e": "2"}, {"a": "1"}),
        ({"d__e": "1", "d__f": "2"}, {"d__e": "1"}),
        ({"a": "1"}, {}),
        ({}, {"a": "1"}),
    ],
    ids=["changed", "added", "removed", "folder removed", "removed from folder", "all removed", "first"],
)
def test_a_change_takes_the_place_of_what_was(
    tmp_path: Path, old: dict[str, str], new: dict[str, str]
) -> None:
    write_files(tmp_path, files(**old), now=NOW)
    before = os.readlink(tmp_path / "..data")
    assert write_files(tmp_path, files(**new), now=NOW + 1)
    assert seen(tmp_path) == {path.replace("__", "/"): text for path, text in new.items()}
    assert not (tmp_path / before).exists()
    assert not (tmp_path / "..data_tmp").is_symlink()


def test_links_that_somebody_removed_come_back(tmp_path: Path) -> None:
    write_files(tmp_path, files(a="1"), now=NOW)
    (tmp_path / "a").unlink()
    assert not write_files(tmp_path, files(a="1"), now=NOW)
    assert seen(tmp_path) == {"a": "1"}


def test_what_a_crash_left_is_in_nobodys_way(tmp_path: Path) -> None:
    write_files(tmp_path, files(a="1"), now=NOW)
    (tmp_path / "..data_tmp").symlink_to("nowhere")
    assert write_files(tmp_path, files(a="2"), now=NOW)
    assert seen(tmp_path) == {"a": "2"}


def test_modes_are_as_asked_for_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        write_files(tmp_path, {"d/x": File(b"", 0o755), "y": File(b"", 0o400)}, now=NOW)
    finally:
        os.umask(old)
    modes = {name: (tmp_path / name).stat().st_mode & 0o7777 for name in ("d/x", "y", "d", "..data")}
    assert modes == {"d/x": 0o755, "y": 0o400, "d": 0o755, "..data": 0o755}


def test_owners_are_changed_before_anybody_sees_the_files(tmp_path: Path) -> None:
    write_files(tmp_path, files(a="1"), now=NOW)
    visible = []
    write_files(
        tmp_path, files(a="2"), now=NOW, publish=lambda new: visible.append((seen(tmp_path), seen(new)))
    )
    assert visible == [({"a": "1"}, {"a": "2"})]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", 'must not be empty: ""'),
        ("/a", "must be relative path: /a"),
        ("a/../b", "must not contain '..': a/../b"),
        ("..a", "must not start with '..': ..a"),
        ("x" * 256, "filenames must be less than or equal to 255 characters"),
        ("x/" * 2100, "must be less than or equal to 4096 characters"),
    ],
)
def test_paths_that_may_not_be(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(BadPath) as raised:
        write_files(tmp_path, {path: File(b"", 0o644)}, now=NOW)
    assert str(raised.value) == f"invalid path: {problem}"
    assert os.listdir(tmp_path) == []
