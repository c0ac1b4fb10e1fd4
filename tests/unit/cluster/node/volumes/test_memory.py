"""Volumes in memory: how large, mounted once, and gone."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.node.volumes.memory import memory_size, mount_memory, unmount_all
from steersman.objects.quantities import Quantity

NODE = Quantity.parse("8Gi")


def container(memory: str | None = None) -> dict[str, Any]:
    return {"resources": {"limits": {"memory": memory}} if memory else {}}


@pytest.mark.parametrize(
    ("spec", "size_limit", "size"),
    [
        pytest.param({"containers": [container()]}, None, 8 << 30, id="the node's"),
        pytest.param({"containers": [container()]}, "1Mi", 1 << 20, id="its own"),
        pytest.param({"containers": [container()]}, "9Gi", 8 << 30, id="more than the node has"),
        pytest.param({"containers": [container("1Gi"), container("2Gi")]}, None, 3 << 30, id="the pod's"),
        pytest.param({"containers": [container("1Gi")]}, "1500M", 1 << 30, id="more than the pod has"),
        pytest.param(
            {"containers": [container("1Gi"), container()]}, None, 8 << 30, id="one without a limit"
        ),
        pytest.param(
            {"containers": [container()], "resources": {"limits": {"memory": "1Gi"}}},
            "0",
            1 << 30,
            id="of the pod as a whole",
        ),
        pytest.param(
            {"containers": [container("1Gi")], "initContainers": [container("2Gi")]},
            None,
            2 << 30,
            id="of the largest moment",
        ),
    ],
)
def test_a_volume_is_as_large_as_it_may_be(spec: dict[str, Any], size_limit: str | None, size: int) -> None:
    assert memory_size({"spec": spec}, size_limit, NODE) == size


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_volume_is_mounted_once_and_bounded(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    mount_memory(volume, 1 << 20, 0o777)
    if not os.path.ismount(volume):
        pytest.skip("this machine lets not even root mount")
    try:
        assert volume.stat().st_mode & 0o7777 == 0o777
        (volume / "kept").write_text("kept")
        mount_memory(volume, 1 << 20, 0o777)
        assert (volume / "kept").read_text() == "kept"
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            (volume / "large").write_bytes(bytes(2 << 20))
    finally:
        unmount_all(tmp_path)
    assert not os.path.ismount(volume)
    assert list(volume.iterdir()) == []


def test_nothing_is_unmounted_where_nothing_is(tmp_path: Path) -> None:
    unmount_all(tmp_path / "none")
    (tmp_path / "folder").mkdir()
    unmount_all(tmp_path)
    assert (tmp_path / "folder").is_dir()
