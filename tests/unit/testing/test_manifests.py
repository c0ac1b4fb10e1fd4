"""Objects from whatever a test gives."""

from __future__ import annotations

from pathlib import Path

from steersman.objects.builders import ConfigMap
from steersman.testing.manifests import read_manifests

SEVERAL = """\
# a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {day: "2026-01-01", text: "a --- b"}
--- # another
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {since: 2026-01-01}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
---
"""


def names(*manifests: object) -> list[str]:
    return [obj["metadata"]["name"] for obj in read_manifests(manifests)]  # type: ignore[arg-type]


def test_yaml_may_hold_several_documents_and_lists() -> None:
    assert names(SEVERAL) == ["a", "b", "c"]
    assert {obj["apiVersion"] for obj in read_manifests([SEVERAL])} == {"v1"}


def test_scalars_are_read_as_kubernetes_reads_them() -> None:
    assert [obj.get("data") for obj in read_manifests([SEVERAL])][1] == {"since": "2026-01-01"}


def test_files_dicts_and_builders_are_taken_in_order(tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(SEVERAL)
    assert names({"kind": "X", "metadata": {"name": "first"}}, file, ConfigMap("last")) == [
        "first", "a", "b", "c", "last"
    ]  # fmt: skip
