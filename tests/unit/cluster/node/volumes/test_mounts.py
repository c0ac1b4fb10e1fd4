"""What of its pod's volumes a container sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.node.cri import Mount
from steersman.cluster.node.volumes import ReadyVolume, container_mounts
from steersman.cluster.node.volumes.errors import VolumeProblem


def mounts(tmp_path: Path, ready: ReadyVolume | None = None, **mount: Any) -> tuple[Mount, ...]:
    container = {"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/data", **mount}]}
    volumes = {"v": ready or ReadyVolume(tmp_path)}
    return container_mounts(container, volumes, {"POD": "p-1", "EMPTY": ""})


@pytest.mark.parametrize(
    ("mount", "path", "part", "readonly"),
    [
        ({}, "/data", "", False),
        ({"readOnly": True}, "/data", "", True),
        ({"mountPath": "data"}, "/data", "", False),
        ({"subPath": "a/b"}, "/data", "a/b", False),
        ({"subPathExpr": "logs/$(POD)"}, "/data", "logs/p-1", False),
        ({"subPathExpr": "$$(POD)"}, "/data", "$(POD)", False),
    ],
)
def test_a_mount(tmp_path: Path, mount: dict[str, Any], path: str, part: str, readonly: bool) -> None:
    assert mounts(tmp_path, **mount) == (Mount(path, str(tmp_path / part), readonly),)
    assert (tmp_path / part).is_dir()


def test_some_volumes_are_only_to_be_read(tmp_path: Path) -> None:
    assert mounts(tmp_path, ReadyVolume(tmp_path, readonly=True))[0].readonly


@pytest.mark.parametrize(
    ("mount", "problem"),
    [
        ({"name": "w"}, 'cannot find volume "w" to mount into container "c"'),
        ({"subPathExpr": "$(NONE)/$(EMPTY)"}, "missing value for EMPTY, NONE"),
        ({"subPath": "../x"}, "unable to provision SubPath `../x`: must not contain '..'"),
        (
            {"subPath": "file/x"},
            'failed to create subPath directory for volumeMount "v" of container "c"',
        ),
    ],
)
def test_mounts_that_cannot_be(tmp_path: Path, mount: dict[str, Any], problem: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VolumeProblem) as raised:
        mounts(tmp_path, **mount)
    assert str(raised.value) == problem
