"""Columns of custom resources: by JSONPath, by type, with a default."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.resources.columns.custom import table_for

_NOW = 1_704_067_200.0  # 2024-01-01T00:00:00Z
_OBJECT = {
    "metadata": {"name": "a", "creationTimestamp": "2023-12-31T23:00:00Z"},
    "spec": {
        "text": "t",
        "n": 3,
        "f": 1.5,
        "yes": True,
        "map": {"b": 1, "a": "<"},
        "none": None,
        "list": [1],
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}], "since": "soon"},
}


def column(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"name": "C", "type": kind, "jsonPath": path, **more}


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("string", ".spec.text", "t"),
        ("string", ".spec.n", "3"),
        ("string", ".spec.f", "1.5"),
        ("string", ".spec.yes", "true"),
        ("string", ".spec.map", '{"a":"\\u003c","b":1}'),
        ("string", ".spec.none", "<no value>"),
        ("string", ".spec.absent", None),
        ("string", ".spec.list[7]", None),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
        ("integer", ".spec.n", 3),
        ("integer", ".spec.f", 1),
        ("integer", ".spec.text", None),
        ("integer", ".spec.yes", None),
        ("number", ".spec.f", 1.5),
        ("boolean", ".spec.yes", True),
        ("boolean", ".spec.text", None),
        ("date", ".metadata.creationTimestamp", "60m"),
        ("date", ".status.since", "<invalid>"),
        ("date", ".spec.n", None),
    ],
)
def test_cell(kind: str, path: str, cell: Any) -> None:
    table = table_for({"additionalPrinterColumns": [column(kind, path)]})
    assert table.cells(_OBJECT, _NOW) == ["a", cell]


def test_columns_are_those_of_the_definition() -> None:
    table = table_for(
        {"additionalPrinterColumns": [column("integer", ".spec.n", priority=1, format="int32")]}
    )
    name, made = (each.to_json() for each in table.columns)
    assert (name["name"], name["format"]) == ("Name", "name")
    assert made == {
        "name": "C",
        "type": "integer",
        "format": "int32",
        "description": "Custom resource definition column (in JSONPath format): .spec.n",
        "priority": 1,
    }


def test_without_columns_name_and_age_are_shown() -> None:
    table = table_for({})
    assert [(each.name, each.type) for each in table.columns] == [("Name", "string"), ("Age", "date")]
    assert table.cells(_OBJECT, _NOW) == ["a", "60m"]


def test_a_path_that_cannot_be_read_ends_the_table() -> None:
    columns = [column("string", ".spec.text"), column("string", ".spec.list["), column("integer", ".spec.n")]
    table = table_for({"additionalPrinterColumns": columns})
    assert table.cells(_OBJECT, _NOW) == ["a", "t"]
