"""What a table is made of: its columns, and the function that fills one row's cells.

The group modules beside this one declare their tables with these pieces. Objects come in normal
form, where empty fields are absent, so every read goes through `at`, which says what absence means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from steersman.objects.kinds import Object
from steersman.objects.times import human_duration, parse_time

__all__ = [
    "AGE",
    "CREATED_AT",
    "NAME",
    "NONE",
    "UNKNOWN",
    "UNSET",
    "Cells",
    "ColumnDefinition",
    "Table",
    "age",
    "at",
    "condition",
    "container_cells",
    "created_at",
    "joined_with_more",
    "label_text",
    "name_of",
    "seconds",
    "since",
    "wide",
]

Cells = list[Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column of a Table. Those with a priority above 0 are shown only by `kubectl get -o wide`."""

    name: str
    description: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def wide(name: str, description: str, kind: str = "string", style: str = "") -> ColumnDefinition:
    """A column shown only in wide output."""
    return ColumnDefinition(name, description, kind, style, 1)


NAME: Final = ColumnDefinition("Name", "The name of the object.", format="name")
AGE: Final = ColumnDefinition("Age", "How long ago the object was created.")
CREATED_AT: Final = ColumnDefinition("Created At", "When the object was created.", "date")


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of one resource, and how to compute the cells of one object at a given time."""

    columns: tuple[ColumnDefinition, ...]
    cells: Callable[[Object, float], Cells]
    #: What a list without objects shows instead of rows.
    null_when_empty: bool = False


def at(obj: Any, *path: str, default: Any = None) -> Any:
    """The value at a path of keys, or the default where any step of it is absent."""
    for key in path:
        if not isinstance(obj, dict):
            return default
        obj = obj.get(key)
    return default if obj is None else obj


def name_of(obj: Object) -> str:
    return str(at(obj, "metadata", "name", default=""))


def seconds(timestamp: str) -> float:
    """A timestamp as epoch seconds."""
    return parse_time(timestamp).timestamp()


def since(timestamp: str | None, now: float) -> str:
    """How long ago a time was, in the short form people read."""
    return human_duration(now - seconds(timestamp)) if timestamp else UNKNOWN


def age(obj: Object, now: float) -> str:
    return since(at(obj, "metadata", "creationTimestamp"), now)


def created_at(obj: Object) -> str:
    # The zero time is what an object without a creation time shows.
    return str(at(obj, "metadata", "creationTimestamp", default="0001-01-01T00:00:00Z"))


def condition(obj: Object, wanted: str) -> Object | None:
    """The first status condition of a type."""
    for found in at(obj, "status", "conditions", default=()):
        if found.get("type") == wanted:
            return dict(found)
    return None


def label_text(labels: dict[str, str]) -> str:
    """Plain labels, as a selector of old would list them."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def container_cells(pod_spec: Any) -> tuple[str, str]:
    """The names and the images of a pod's containers."""
    containers = at(pod_spec, "containers", default=())
    return (
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
    )


def joined_with_more(items: Iterable[str], shown: int = 3) -> str:
    """The first few items, and how many were left off."""
    every = list(items)
    text = ",".join(every[:shown])
    if len(every) > shown:
        return f"{text} + {len(every) - shown} more..."
    return text or UNSET
