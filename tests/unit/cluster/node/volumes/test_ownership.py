"""Whom the files of volumes belong to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.node.volumes.ownership import (
    fs_group_of,
    fs_user_of,
    give_to_group,
    missing_groups,
)

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


def as_somebody(monkeypatch: pytest.MonkeyPatch, user: int, *groups: int) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getegid", lambda: groups[0])
    monkeypatch.setattr(os, "getgroups", lambda: list(groups))


def test_somebody_who_is_not_root_has_only_own_groups_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    as_somebody(monkeypatch, 1000, 1000, GROUP)
    assert missing_groups((GROUP, 1000, 7)) == [7]
    assert fs_group_of({"spec": {"securityContext": {"fsGroup": GROUP}}}) == GROUP
    assert fs_group_of({"spec": {"securityContext": {"fsGroup": 7}}}) is None


def user(uid: int | None) -> dict[str, Any]:
    return {"securityContext": {"runAsUser": uid}}


@pytest.mark.parametrize(
    ("spec", "owner"),
    [
        pytest.param({"containers": [{}]}, None, id="nobody says"),
        pytest.param({**user(7), "containers": [{}, {}]}, 7, id="the pod's"),
        pytest.param({**user(7), "containers": [user(None)]}, 7, id="not said is the pod's"),
        pytest.param({**user(7), "containers": [user(8)]}, 8, id="the container's"),
        pytest.param({"containers": [user(8), user(8)]}, 8, id="of all alike"),
        pytest.param({"containers": [user(8), user(9)]}, None, id="different ones"),
        pytest.param({"containers": [user(8), {}]}, None, id="one says nothing"),
        pytest.param(
            {"initContainers": [user(9)], "containers": [user(8)]}, None, id="init containers count"
        ),
        pytest.param({**user(0), "containers": [{}]}, 0, id="root"),
    ],
)
def test_files_for_a_pod_only_belong_to_the_one_user_of_its_containers(
    spec: dict[str, Any], owner: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_somebody(monkeypatch, 0, 0)
    assert fs_user_of({"spec": spec}) == owner


def test_somebody_who_is_not_root_gives_files_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    as_somebody(monkeypatch, 1000, 1000)
    assert fs_user_of({"spec": {**user(7), "containers": [{}]}}) is None
    assert fs_user_of({"spec": {**user(1000), "containers": [{}]}}) == 1000
