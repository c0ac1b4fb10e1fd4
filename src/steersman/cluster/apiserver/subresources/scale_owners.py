"""managedFields of the replicas of a workload, converted between the workload and its Scale.

A Scale has one field that counts. Its managedFields are those of the workload that own the replicas, in
terms of autoscaling/v1; what a write to the scale makes of them goes back into the workload's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steersman.objects.fieldsets import contains, difference, fields_of
from steersman.objects.managed import Entry, Managed

__all__ = ["SCALE_VERSION", "owners_of_scale", "owners_of_workload"]

Entries = Sequence[dict[str, Any]]
#: Where each apiVersion of a workload keeps its replicas; None where it has no scale.
Replicas = Mapping[str, str | None]

SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = "spec.replicas"
_IN_SCALE: Final = fields_of(_REPLICAS)


def owners_of_scale(entries: Entries, replicas: Replicas) -> list[dict[str, Any]]:
    """The entries of a workload that own its replicas, as a Scale has them."""
    owned = Managed()
    for entry in Managed.decode(entries, trusted=True).entries.values():
        if _owns(entry, replicas.get(entry.api_version)):
            owned.put(entry._replace(api_version=SCALE_VERSION, fields=_IN_SCALE))
    return owned.encode()


def owners_of_workload(
    entries: Entries, scale_entries: Entries, api_version: str, replicas: Replicas
) -> list[dict[str, Any]]:
    """The workload's entries after its scale was written through `api_version`. Entries that come from the
    scale have no time; those of unknown versions go.

    Updates are told apart by their apiVersion too, and a Scale's is another: the manager that owned the
    replicas by an update is not recognized, and has two entries from then on.
    """
    left = {
        key: entry
        for key, entry in Managed.decode(scale_entries, trusted=True).entries.items()
        if _owns(entry, _REPLICAS)
    }
    result = Managed()
    for key, entry in Managed.decode(entries, trusted=True).entries.items():
        if entry.api_version not in replicas:
            continue
        field = replicas[entry.api_version]
        if field is None or not _owns(entry, field) or left.pop(key, None) is not None:
            result.put(entry)
        else:
            result.put(entry._replace(fields=difference(entry.fields, fields_of(field))))
    own = fields_of(replicas[api_version] or _REPLICAS)
    for key, entry in left.items():
        result.entries[key] = entry._replace(api_version=api_version, time="", fields=own)
    return result.encode()


def _owns(entry: Entry, field: str | None) -> bool:
    return field is not None and contains(entry.fields, [f"f:{name}" for name in field.split(".")])
