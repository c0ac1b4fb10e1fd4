"""Status conditions: reading one, setting one so that its transition time means something.

`lastTransitionTime` moves only when the status does. Lists are never changed: `set_condition` returns
the new list (the very same one when nothing changed). Called by controllers and by the cluster's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

__all__ = [
    "condition_is",
    "condition_patch",
    "find_condition",
    "is_ready",
    "remove_condition",
    "set_condition",
]

Condition = Mapping[str, Any]
C = TypeVar("C", bound=Condition)

_CONTENT = ("status", "reason", "message", "observedGeneration")


def find_condition(conditions: Iterable[C] | None, kind: str) -> C | None:
    for condition in conditions or ():
        if condition.get("type") == kind:
            return condition
    return None


def condition_is(conditions: Iterable[Condition] | None, kind: str, status: str = "True") -> bool:
    condition = find_condition(conditions, kind)
    return condition is not None and condition.get("status") == status


def is_ready(obj: Mapping[str, Any]) -> bool:
    """Whether a pod or a node is ready: its condition Ready is True."""
    return condition_is((obj.get("status") or {}).get("conditions"), "Ready")


def set_condition(
    conditions: list[C] | None,
    kind: str,
    status: str,
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    now: str,
) -> list[C]:
    """The conditions with this one as given; `now` becomes its transition time if its status changed."""
    old = find_condition(conditions, kind)
    unmoved = old is not None and old.get("status") == status
    new = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": old["lastTransitionTime"] if old is not None and unmoved else now,
    }
    if observed_generation is not None:
        new["observedGeneration"] = observed_generation
    if old is None:
        return [*(conditions or ()), cast("C", new)]
    if all(old.get(field) == new.get(field) for field in _CONTENT):
        return conditions or []
    return [cast("C", new) if condition is old else condition for condition in conditions or ()]


def condition_patch(conditions: Iterable[Condition] | None, condition: Condition) -> dict[str, Any]:
    """What sets a condition in a strategic merge patch of a status. A new one goes last: without the order it
    would be the first."""
    kinds = dict.fromkeys(one["type"] for one in (*(conditions or ()), condition))
    return {
        "conditions": [condition],
        "$setElementOrder/conditions": [{"type": kind} for kind in kinds],
    }


def remove_condition(conditions: list[C] | None, kind: str) -> list[C]:
    kept = [condition for condition in conditions or () if condition.get("type") != kind]
    return kept if conditions is None or len(kept) != len(conditions) else conditions
