"""The table is made from the published definitions, and rebuilt where it is missing."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.schema import table, table_building
from steersman.cluster.schema.errors import TableMissing
from steersman.cluster.schema.resources import GVK, all_resources

RESOURCES = "[v1]\nthings Thing namespaced *\n"
PUBLISHED: dict[str, Any] = {
    "io.k8s.api.core.v1.Thing": {
        "description": "A thing.",
        "type": ["object", "null"],
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Thing"}],
        "properties": {
            "kind": {"type": ["string", "null"], "enum": ["Thing"]},
            "$ref": {"type": "string", "description": "A field of this name."},
            "part": {"$ref": "#/$defs/io.k8s.api.core.v1.Part", "description": "Its part."},
        },
    },
    "io.k8s.api.core.v1.Part": {"type": "object", "description": "A part."},
    "io.k8s.api.beta.v1beta1.Other": {
        "x-kubernetes-group-version-kind": [{"group": "beta", "version": "v1beta1", "kind": "Other"}]
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    published = dict(PUBLISHED)
    for name in table_building.ALWAYS:
        published[name] = {"type": "object"}
    (tmp_path / "definitions.json").write_text(json.dumps({"$defs": published}))
    (tmp_path / "resources.txt").write_text(RESOURCES)
    table_building.build(tmp_path / "definitions.json", tmp_path)
    return tmp_path


def test_only_what_is_served_is_kept_without_prose(folder: Path) -> None:
    found = json.loads((folder / table_building.TABLE).read_text())
    assert found["io.k8s.api.core.v1.Thing"] == {
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Thing"}],
        "properties": {
            "kind": {"type": "string"},
            "$ref": {"type": "string"},
            "part": {"$ref": "io.k8s.api.core.v1.Part"},
        },
    }
    assert "io.k8s.api.core.v1.Part" in found
    assert "io.k8s.api.beta.v1beta1.Other" not in found


def test_prose_is_kept_apart(folder: Path) -> None:
    found = json.loads(zlib.decompress((folder / table_building.PROSE).read_bytes()))
    assert found["io.k8s.api.core.v1.Thing"] == [
        "A thing.",
        {"$ref": "A field of this name.", "part": "Its part."},
    ]
    assert sorted(path.name for path in folder.iterdir()) == [
        table_building.TABLE,
        table_building.PROSE,
        "definitions.json",
        "resources.txt",
    ]


def test_every_served_kind_has_a_type() -> None:
    for resource in all_resources():
        assert table.type_name(resource.gvk) in table.table()
        if "list" in resource.verbs:
            assert table.type_name(resource.gvk._replace(kind=resource.list_kind)) in table.table()
    assert table.type_name(GVK("", "v1", "Nope")) is None


def test_without_table_and_source_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_FOLDER", tmp_path)
    monkeypatch.setattr(table_building, "SOURCE_PACKAGE", "no_such_package")
    with pytest.raises(TableMissing, match="pip install -e"):
        table.prose()


def test_a_missing_table_is_built_on_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if table_building.find_definitions() is None:
        pytest.skip("the package with the definitions is not installed")
    (tmp_path / "resources.txt").write_text("[apps/v1]\n")
    monkeypatch.setattr(table, "_FOLDER", tmp_path)
    assert "io.k8s.api.apps.v1.Deployment" in table.prose()
    assert (tmp_path / table_building.TABLE).exists()
