"""The width of a request in seats: one, or one for each hundred objects that a list reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.auth.authorization import Action
from steersman.cluster.store import Store

__all__ = ["ObjectCount", "stored_count", "width_of"]

#: (group, plural) → how many objects are stored.
ObjectCount = Callable[[str, str], int]

_OBJECTS_PER_SEAT = 100
_FALSE = ("", "0", "false", "False", "FALSE", "f", "F")


def stored_count(store: Store, catalog: Catalog) -> ObjectCount:
    """Counts what is stored now; resources are looked up once per change of the catalog."""
    prefixes: dict[tuple[str, str], str] = {}
    generation = catalog.generation

    def count(group: str, plural: str) -> int:
        nonlocal generation
        if generation != catalog.generation:
            generation = catalog.generation
            prefixes.clear()
        prefix = prefixes.get((group, plural))
        if prefix is None:
            resource = catalog.stored(group, plural)
            if resource is None:
                # Unknown, or served by another server: cheap for us.
                return 0
            prefix = prefixes[(group, plural)] = resource.prefix
        return store.count(prefix)

    return count


def width_of(action: Action, query: Mapping[str, Sequence[str]], count: ObjectCount, widest: int) -> int:
    """Seats for a list or watch, between 1 and `widest`."""
    if widest == 1 or action.name or (action.verb == "watch" and not _wants_state(query)):
        return 1
    objects = count(action.group, action.resource)
    limit = _first(query, "limit")
    selective = _first(query, "labelSelector") or _first(query, "fieldSelector")
    if limit.isdecimal() and not selective and 0 < int(limit[:9]) < objects:
        objects = int(limit[:9])
    return max(1, min(widest, -(-objects // _OBJECTS_PER_SEAT)))


def _wants_state(query: Mapping[str, Sequence[str]]) -> bool:
    """Whether a watch starts with everything there is."""
    if _first(query, "sendInitialEvents") not in _FALSE:
        return True
    return _first(query, "resourceVersion") in ("", "0")


def _first(query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""
