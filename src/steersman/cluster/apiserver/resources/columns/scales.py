"""What `kubectl get --subresource=scale` shows: the same of everything that can be scaled.

Scales of custom resources are shown by the rules for those, which differ in how columns are declared.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.apiserver.resources.columns.custom import table_for
from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    name_of,
)
from steersman.objects.kinds import Object

__all__ = ["scale_table"]


def _cells(scale: Object, now: float) -> Cells:
    return [
        name_of(scale),
        at(scale, "spec", "replicas", default=0),
        at(scale, "status", "replicas", default=0),
        age(scale, now),
    ]


_BUILT_IN: Final = Table(
    (
        ColumnDefinition("Name", "The name of the object."),
        ColumnDefinition("Desired", "How many replicas are wanted.", "integer"),
        ColumnDefinition("Available", "How many replicas there are.", "integer"),
        AGE,
    ),
    _cells,
)
_CUSTOM: Final = table_for(
    {
        "additionalPrinterColumns": [
            {
                "name": "Desired",
                "type": "integer",
                "description": "Number of desired replicas",
                "jsonPath": ".spec.replicas",
            },
            {
                "name": "Available",
                "type": "integer",
                "description": "Number of actual replicas",
                "jsonPath": ".status.replicas",
            },
            {
                "name": "Age",
                "type": "date",
                "description": AGE.description,
                "jsonPath": ".metadata.creationTimestamp",
            },
        ]
    }
)


def scale_table(*, custom: bool) -> Table:
    return _CUSTOM if custom else _BUILT_IN
