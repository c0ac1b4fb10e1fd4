"""The files that objects are shown as."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from steersman.cluster.node.downward import DownwardNodeFacts
from steersman.cluster.node.volumes.atomic import File
from steersman.cluster.node.volumes.errors import VolumeProblem
from steersman.cluster.node.volumes.payloads import config_map_files, downward_files, secret_files

RAW = b"\x00\xff"
CONFIG_MAP = {"data": {"a": "ä"}, "binaryData": {"b": b64encode(RAW).decode()}}
SECRET = {"data": {"a": b64encode(b"s").decode()}}


def test_everything_is_shown_unless_items_choose() -> None:
    assert config_map_files(CONFIG_MAP, (), 0o640, optional=False) == {
        "a": File("ä".encode(), 0o640),
        "b": File(RAW, 0o640),
    }
    assert secret_files(SECRET, (), 0o400, optional=False) == {"a": File(b"s", 0o400)}


def test_items_choose_keys_paths_and_modes() -> None:
    items = [{"key": "b", "path": "x/y", "mode": 0o600}, {"key": "a", "path": "z"}]
    assert config_map_files(CONFIG_MAP, items, 0o644, optional=False) == {
        "x/y": File(RAW, 0o600),
        "z": File("ä".encode(), 0o644),
    }


@pytest.mark.parametrize(
    ("make", "found", "problem"),
    [
        (config_map_files, CONFIG_MAP, "configmap references non-existent config key: k"),
        (secret_files, SECRET, "references non-existent secret key: k"),
    ],
    ids=["configMap", "secret"],
)
def test_a_key_that_is_not_there(make: Any, found: dict[str, Any], problem: str) -> None:
    items = [{"key": "k", "path": "p"}, {"key": "a", "path": "a"}]
    with pytest.raises(VolumeProblem) as raised:
        make(found, items, 0o644, optional=False)
    assert str(raised.value) == problem
    assert list(make(found, items, 0o644, optional=True)) == ["a"]
    assert make({}, (), 0o644, optional=True) == {}


def test_a_pod_is_shown_to_itself() -> None:
    pod = {
        "metadata": {"name": "p", "labels": {"a": "1"}},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]},
    }
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}, "mode": 0o400},
        {"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}},
    ]
    assert downward_files(pod, items, 0o644, DownwardNodeFacts("n", ())) == {
        "labels": File(b'a="1"', 0o400),
        "cpu": File(b"2", 0o644),
    }
    wrong = {"path": "cpu", "resourceFieldRef": {"containerName": "x", "resource": "limits.cpu"}}
    with pytest.raises(VolumeProblem, match="container x not found"):
        downward_files(pod, [wrong], 0o644, DownwardNodeFacts("n", ()))
