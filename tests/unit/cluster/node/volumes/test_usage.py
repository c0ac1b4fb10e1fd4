"""How large volumes are, and may be."""

from __future__ import annotations

import os
from pathlib import Path

from steersman.cluster.node.volumes.usage import limited_volumes, too_much, used_bytes
from steersman.objects.quantities import Quantity


def test_only_scratch_volumes_have_limits() -> None:
    volumes = [
        {"name": "a", "emptyDir": {"sizeLimit": "1Mi"}},
        {"name": "b", "emptyDir": {}},
        {"name": "c", "emptyDir": {"sizeLimit": "0"}},
        {"name": "d", "hostPath": {"path": "/x"}},
    ]
    assert limited_volumes({"spec": {"volumes": volumes}}) == {"a": Quantity.parse("1Mi")}
    assert limited_volumes({"spec": {}}) == {}


def test_a_folder_is_as_large_as_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/file").write_bytes(os.urandom(64 << 10))
    (tmp_path / "again").hardlink_to(tmp_path / "deep/file")
    (tmp_path / "link").symlink_to("/dev/zero")
    assert 64 << 10 <= used_bytes(tmp_path) < 128 << 10
    assert used_bytes(tmp_path / "none") == 0


def test_an_eviction_says_why() -> None:
    limit = Quantity.parse("1Mi")
    assert too_much("a", limit) == 'Usage of EmptyDir volume "a" exceeds the limit "1Mi". '
