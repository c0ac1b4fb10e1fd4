"""Mounts within mounts."""

from __future__ import annotations

import pytest

from steersman.cluster.node.volumes.nested_mounts import nested_folders


@pytest.mark.parametrize(
    ("mounts", "folders"),
    [
        ({"v": "/a", "w": "/b"}, set()),
        ({"v": "/a", "w": "/a/b"}, {"b"}),
        ({"v": "/a/", "w": "/a//b/../c"}, {"c"}),
        ({"v": "/a", "w": "/ab"}, set()),
        ({"v": "/a", "w": "/a/b/c", "x": "/a/b"}, {"b"}),
        ({"v": "/a", "w": "/a/b", "x": "/a/c/d"}, {"b", "c/d"}),
        ({"v": "/a/b", "w": "/a"}, set()),
    ],
)
def test_a_volume_has_folders_for_what_is_mounted_in_it(mounts: dict[str, str], folders: set[str]) -> None:
    container = {
        "name": "c",
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
    }
    assert nested_folders({"spec": {"containers": [container]}}, "v") == folders


def test_all_containers_count_and_parts_of_the_volume_do_not() -> None:
    whole = [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a/b"}]
    part = [{"name": "v", "mountPath": "/a", "subPath": "x"}, {"name": "w", "mountPath": "/a/c"}]
    spec = {
        "initContainers": [{"name": "i", "volumeMounts": whole}],
        "containers": [{"name": "c", "volumeMounts": part}, {"name": "d"}],
    }
    assert nested_folders({"spec": spec}, "v") == {"b"}
