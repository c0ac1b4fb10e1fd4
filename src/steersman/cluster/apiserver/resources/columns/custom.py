"""What `kubectl get` shows of custom resources: the columns their definition asks for.

A definition's version gives a `Table` once; the API server keeps it with the version and uses it as it does
those of built-in resources. A column whose path cannot be read ends the table there, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    UNKNOWN,
    Cells,
    ColumnDefinition,
    Table,
    name_of,
    since,
)
from steersman.cluster.schema.structural.errors import JSONPathError
from steersman.cluster.schema.structural.go_types import go_value
from steersman.cluster.schema.structural.jsonpath import JSONPath
from steersman.cluster.schema.structural.lists import sorted_keys
from steersman.objects.errors import TimeError
from steersman.objects.fields import show
from steersman.objects.kinds import Object

__all__ = ["table_for"]

#: Computes one cell of an object at a time.
Cell = Callable[[Object, float], Any]

_AGE: Final[Object] = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": AGE.description,
}


def table_for(version: Object) -> Table:
    """The table of one version of a definition; without columns of its own it shows name and age."""
    columns: list[ColumnDefinition] = [NAME]
    cells: list[Cell] = [_name]
    for column in version.get("additionalPrinterColumns") or (_AGE,):
        path = column["jsonPath"]
        try:
            read = JSONPath(path)
        except JSONPathError:
            break
        described = (
            column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        )
        columns.append(
            ColumnDefinition(
                column["name"], described, column["type"], column.get("format", ""), column.get("priority", 0)
            )
        )
        cells.append(_cell(read, column["type"]))
    return Table(tuple(columns), lambda obj, now: _row(cells, obj, now))


def _row(cells: list[Cell], obj: Object, now: float) -> Cells:
    return [cell(obj, now) for cell in cells]


def _name(obj: Object, now: float) -> Any:
    return name_of(obj)


def _cell(path: JSONPath, kind: str) -> Cell:
    def cell(obj: Object, now: float) -> Any:
        try:
            found = path.find(obj)
        except JSONPathError:
            return None
        return _shown(kind, found[0], now) if found else None

    return cell


def _shown(kind: str, value: Any, now: float) -> Any:
    """A value in a column of a type; nothing when it is of another one. Texts show anything."""
    if kind == "string":
        return _text(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "integer" if is_number:
            return int(value)
        case "number" if is_number:
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return _age(value, now)
    return None


def _text(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return show(sorted_keys(value))
    return "<no value>" if value is None else go_value(value)


def _age(value: str, now: float) -> str:
    if value in ("", "null"):
        return UNKNOWN
    try:
        return since(value, now)
    except TimeError:
        return "<invalid>"
