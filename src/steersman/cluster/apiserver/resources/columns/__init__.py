"""What `kubectl get` shows: the columns of each built-in resource and the cells of its objects.

The API server calls this when a client accepts a Table. Cells are computed at the given time (epoch
seconds), so that a test can say when "now" is. Custom resources bring their own columns and are not
known here. A resource that no module names shows its name and when it was created.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.cluster.apiserver.resources.columns import (
    admission,
    apps,
    autoscaling,
    batch,
    certificates,
    control_plane,
    core,
    events,
    networking,
    pods,
    rbac,
    scheduling,
    storage,
)
from steersman.cluster.apiserver.resources.columns.definitions import (
    CREATED_AT,
    NAME,
    Cells,
    ColumnDefinition,
    Table,
    created_at,
    name_of,
)
from steersman.objects.kinds import Object

__all__ = ["ColumnDefinition", "Row", "cells", "columns_for", "rows"]

_DEFAULT: Final = Table(
    (NAME, CREATED_AT), lambda obj, now: [name_of(obj), created_at(obj)], null_when_empty=True
)

_TABLES: Final[dict[tuple[str, str], Table]] = {
    **admission.TABLES,
    **apps.TABLES,
    **autoscaling.TABLES,
    **batch.TABLES,
    **certificates.TABLES,
    **control_plane.TABLES,
    **core.TABLES,
    **events.TABLES,
    **networking.TABLES,
    **pods.TABLES,
    **rbac.TABLES,
    **scheduling.TABLES,
    **storage.TABLES,
}

_PODS: Final = ("", "pods")
_FLOW_SCHEMAS: Final = ("flowcontrol.apiserver.k8s.io", "flowschemas")
_STORAGE_CLASSES: Final = ("storage.k8s.io", "storageclasses")


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a list, with its cells and what the row itself says about it."""

    object: Object
    cells: Cells
    conditions: list[dict[str, Any]] = field(default_factory=list)


def columns_for(group: str, version: str, plural: str) -> list[ColumnDefinition]:
    """The columns of a resource. Every version of a resource has the same ones."""
    return list(_TABLES.get((group, plural), _DEFAULT).columns)


def cells(group: str, version: str, plural: str, obj: Object, now: float) -> Cells:
    """The cells of one object, one a column."""
    return _TABLES.get((group, plural), _DEFAULT).cells(obj, now)


def rows(
    group: str, version: str, plural: str, objects: Iterable[Object], now: float, *, listed: bool = True
) -> list[Row] | None:
    """The rows of objects, and if they are a list what only that can tell: order, which class is the default.
    None when there are none and the resource shows that as null."""
    resource = (group, plural)
    shown = control_plane.by_precedence(objects) if resource == _FLOW_SCHEMAS else list(objects)
    found = [
        Row(
            obj,
            cells(group, version, plural, obj, now),
            pods.completion_conditions(obj) if resource == _PODS else [],
        )
        for obj in shown
    ]
    if listed and resource == _STORAGE_CLASSES:
        default = storage.default_storage_class(shown)
        for row in found:
            if default and row.cells[0] == default:
                row.cells[0] += " (default)"
    return found or (None if _TABLES.get(resource, _DEFAULT).null_when_empty else [])
