"""Node taints: those that follow from a node's conditions, and changes to a list of taints. Pure.

Used by the controllers that set taints and by those that evict or place pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from steersman.objects.kinds.views.taints import Taint, Toleration

__all__ = [
    "NOT_READY",
    "NO_EXECUTE",
    "NO_SCHEDULE",
    "UNREACHABLE",
    "UNSCHEDULABLE",
    "Taint",
    "Toleration",
    "changed_taints",
    "condition_taints",
]

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

#: Condition and status → the key of the taint that keeps new pods away.
_OF_CONDITIONS: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
#: The keys of NoSchedule taints that say nothing but what the node's own state does.
_MANAGED: Final = frozenset({*_OF_CONDITIONS.values(), UNSCHEDULABLE})


def condition_taints(conditions: Iterable[tuple[str, str]], *, unschedulable: bool) -> list[Taint]:
    """The NoSchedule taints of a node with these conditions (type and status)."""
    keys = [key for condition in conditions if (key := _OF_CONDITIONS.get(condition)) is not None]
    if unschedulable:
        keys.append(UNSCHEDULABLE)
    return [Taint(key, effect=NO_SCHEDULE) for key in keys]


def changed_taints(
    present: Sequence[Taint], wanted: Collection[Taint], managed: Collection[tuple[str, str]], now: str
) -> list[Taint] | None:
    """The taints with those that are wanted and without other managed ones; None if that is what there is.

    Besides `managed` (key and effect), the NoSchedule taints of conditions are managed.
    """
    kinds = {taint.kind for taint in wanted}
    kept = [taint for taint in present if taint.kind in kinds or not _is_managed(taint, managed)]
    there = {taint.kind for taint in kept}
    added = [msgspec.structs.replace(taint, time_added=now) for taint in wanted if taint.kind not in there]
    return None if not added and len(kept) == len(present) else kept + added


def _is_managed(taint: Taint, managed: Collection[tuple[str, str]]) -> bool:
    return taint.kind in managed or (taint.effect == NO_SCHEDULE and taint.key in _MANAGED)
