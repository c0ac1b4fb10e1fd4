"""Tables against those a real API server gave for the same objects, and columns against its list of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.columns import cells, columns_for, rows
from tests.recordings import CONVERSATIONS, FACTS

CREATED = "2026-01-01T00:00:00Z"
NOW = 1767225605.0  # five seconds later
UID = "8d6a4a0e-5b5f-4d0c-9c52-1f3c5f1f0a11"
MARKERS: dict[str, Any] = {
    "<time>": CREATED,
    "<uid>": UID,
    "<clusterIP>": "10.0.0.1",
    "<clusterIPs>": "10.0.0.1",
    "<nodePort>": 30001,
}
AGE = re.compile(r"^(\d+[smhd])+$")


def recording(name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((CONVERSATIONS / name).read_text())["steps"]
    return steps


def concrete(value: Any) -> Any:
    """A recorded object with its markers replaced by values of the right type."""
    if isinstance(value, dict):
        return {key: concrete(item) for key, item in value.items()}
    if isinstance(value, list):
        return [concrete(item) for item in value]
    return MARKERS.get(value, value) if isinstance(value, str) else value


def marked(cell: Any) -> Any:
    """A cell with what differs from run to run replaced by the recording's markers."""
    if not isinstance(cell, str):
        return cell
    cell = re.sub(r"\b10\.\d+\.\d+\.\d+\b", "<address>", AGE.sub("<age>", cell))
    return re.sub(r":3\d{4}/", ":<nodePort>/", cell).replace(CREATED, "<time>").replace(UID, "<uid>")


def resource_of(path: str) -> tuple[str, str, str]:
    parts = path.partition("?")[0].strip("/").split("/")
    group, version = (parts[1], parts[2]) if parts[0] == "apis" else ("", parts[1])
    return group, version, parts[-1]


def recorded_tables() -> list[Any]:
    steps = recording("defaults.json")
    objects: dict[str, list[dict[str, Any]]] = {}
    cases = []
    for step in steps:
        body = step["answer"].get("body", {})
        if step["method"] == "POST":
            objects.setdefault(step["path"], []).append(body)
        elif step["method"] == "GET":
            listed = sorted(objects[step["path"]], key=lambda obj: str(obj["metadata"]["name"]))
            cases.append(
                pytest.param(resource_of(step["path"]), listed, body, id=resource_of(step["path"])[2])
            )
    return cases


@pytest.mark.parametrize(("resource", "objects", "table"), recorded_tables())
def test_rows_are_those_recorded(
    resource: tuple[str, str, str], objects: list[dict[str, Any]], table: dict[str, Any]
) -> None:
    found = rows(*resource, [concrete(obj) for obj in objects], NOW)
    assert [{"cells": [marked(cell) for cell in row.cells]} for row in found] == table["rows"]
    assert all(row.conditions == [] for row in found)
    columns = [column.to_json() for column in columns_for(*resource)]
    assert all(column.pop("description") for column in columns)
    assert columns == table["columnDefinitions"]


def test_config_maps_show_how_many_entries_they_hold() -> None:
    [step] = [
        s
        for s in recording("watch_and_list.json")
        if "limit=500" in s["path"] and "Table" in str(s.get("headers"))
    ]
    for row in step["answer"]["body"]["rows"]:
        name = row["cells"][0]
        obj = {"metadata": {"name": name, "creationTimestamp": CREATED}, "data": {"k": "v"}}
        assert [marked(cell) for cell in cells("", "v1", "configmaps", obj, NOW)] == row["cells"]


def listed_columns() -> list[Any]:
    facts = json.loads((FACTS / "columns.json").read_text())
    return [pytest.param(key, columns, id=key) for key, columns in facts.items()]


@pytest.mark.parametrize(("key", "expected"), listed_columns())
def test_columns_are_those_of_a_real_server(key: str, expected: list[list[Any]]) -> None:
    group, version, plural = key.split("/")
    columns = columns_for(group, version, plural)
    assert [[c.name, c.type, c.format, c.priority] for c in columns] == expected
    assert all(c.description for c in columns)


@pytest.mark.parametrize(("key", "expected"), listed_columns())
def test_an_empty_object_fills_every_column(key: str, expected: list[list[Any]]) -> None:
    group, version, plural = key.split("/")
    found = cells(group, version, plural, {"metadata": {"name": "x"}}, NOW)
    # Kubernetes itself sends a third cell for the two columns of an address.
    assert len(found) == len(expected) + (plural == "ipaddresses")
