"""fsGroup."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steersman.cluster.node.volumes.ownership import fs_group_of, give_to_group

GROUP = 4321

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


@as_root
@pytest.mark.parametrize(
    ("readonly", "file", "folder"), [(True, 0o644, 0o2755), (False, 0o664, 0o2775)], ids=["read", "write"]
)
def test_files_belong_to_the_group(tmp_path: Path, readonly: bool, file: int, folder: int) -> None:
    (tmp_path / "d").mkdir(0o755)
    (tmp_path / "d/f").touch(0o644)
    (tmp_path / "d/f").chmod(0o644)
    (tmp_path / "link").symlink_to("d/f")
    give_to_group(tmp_path, GROUP, readonly=readonly)
    paths = [tmp_path / "d/f", tmp_path / "d", tmp_path]
    assert {path.lstat().st_gid for path in (*paths, tmp_path / "link")} == {GROUP}
    assert (tmp_path / "d/f").stat().st_mode & 0o7777 == file
    assert (tmp_path / "d").stat().st_mode & 0o7777 == folder


@as_root
def test_on_request_nothing_is_changed_in_a_folder_that_is_right(tmp_path: Path) -> None:
    give_to_group(tmp_path, GROUP, readonly=False)
    (tmp_path / "f").touch()
    os.chown(tmp_path / "f", -1, 0)
    give_to_group(tmp_path, GROUP, readonly=False, lazily=True)
    assert (tmp_path / "f").stat().st_gid == 0
    give_to_group(tmp_path, GROUP, readonly=False)
    assert (tmp_path / "f").stat().st_gid == GROUP


@as_root
def test_a_pod_names_the_group() -> None:
    assert fs_group_of({"spec": {"securityContext": {"fsGroup": GROUP}}}) == GROUP
    assert fs_group_of({"spec": {}}) is None
