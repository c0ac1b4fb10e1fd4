"""Who owns the replicas of a workload, seen from its scale and back.

A Scale has one field that counts. Its managedFields are those of the workload that own the replicas, in
terms of autoscaling/v1; what a write to the scale makes of them goes back into the workload's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from steersman.objects.fieldsets import Fields, contains, difference, fields_of
from steersman.objects.managed import Entry, Managed

__all__ = ["REPLICAS", "SCALE_VERSION", "owners_of_scale", "owners_of_workload"]

Entries = Sequence[dict[str, Any]]

SCALE_VERSION: Final = "autoscaling/v1"
#: Where a Scale, and every built-in workload, has them.
REPLICAS: Final = "spec.replicas"
_IN_SCALE: Final = fields_of(REPLICAS)


def owners_of_scale(entries: Entries, replicas: str = REPLICAS) -> list[dict[str, Any]]:
    """The entries of a workload that own its replicas, as a Scale has them."""
    owned = Managed()
    for entry in Managed.decode(entries, trusted=True).entries.values():
        if contains(entry.fields, _path(replicas)):
            owned.put(entry._replace(api_version=SCALE_VERSION, fields=_IN_SCALE))
    return owned.encode()


def owners_of_workload(
    entries: Entries, scale_entries: Entries, api_version: str, replicas: str = REPLICAS
) -> list[dict[str, Any]]:
    """The workload's entries after its scale was written. Entries that come from the scale have no time."""
    left = {
        _identity(entry): entry
        for entry in Managed.decode(scale_entries, trusted=True).entries.values()
        if contains(entry.fields, _path(REPLICAS))
    }
    field: Fields = fields_of(replicas)
    result = Managed()
    for entry in Managed.decode(entries, trusted=True).entries.values():
        if not contains(entry.fields, _path(replicas)) or left.pop(_identity(entry), None) is not None:
            result.put(entry)
        else:
            result.put(entry._replace(fields=difference(entry.fields, field)))
    for entry in left.values():
        result.put(entry._replace(api_version=api_version, time="", fields=field))
    return result.encode()


def _path(field: str) -> list[str]:
    return [f"f:{name}" for name in field.split(".")]


def _identity(entry: Entry) -> tuple[str, str, str]:
    return entry.manager, entry.operation, entry.subresource
