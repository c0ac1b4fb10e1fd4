"""Would applying this change anything? Answered from the live object alone, without a schema.

The fields a manager applied before are in the object's managedFields, and so is how lists are merged
(`k:` items of a keyed list, `v:` items of a set). A configuration is already applied when it has exactly
these fields, with the values the object has. The operator framework asks this before every write.

A "no" may be wrong (the server writes some values differently from how they were given): then an apply is
sent that the server finds to change nothing, and whoever remembers the `applied_values` after it can tell
the next time. A "yes" is never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steersman.objects.fieldsets import Fields, children, is_member, value_element
from steersman.objects.quantities import canonical

__all__ = ["applied_fields", "applied_values", "is_applied"]

#: What every configuration has and no manager owns.
_IDENTITY = frozenset(("apiVersion", "kind"))
_METADATA_IDENTITY = frozenset(("name", "namespace"))

#: Fields that hold quantities by name, and single quantities: the server writes them its own way.
_QUANTITIES_BY_NAME = frozenset(("limits", "requests", "capacity", "allocatable", "hard"))
_QUANTITIES = frozenset(("sizeLimit", "divisor"))


def applied_fields(live: Mapping[str, Any], manager: str) -> Fields | None:
    """What a manager applied to an object, None when it never did (or applied another version)."""
    for entry in live["metadata"].get("managedFields", ()):
        if (
            entry.get("manager") == manager
            and entry.get("operation") == "Apply"
            and not entry.get("subresource")
            and entry.get("apiVersion") == live.get("apiVersion")
        ):
            fields: Fields = entry.get("fieldsV1", {})
            return fields
    return None


def is_applied(live: Mapping[str, Any], config: Mapping[str, Any], manager: str) -> bool:
    """Whether the server would leave `live` as it is if `manager` applied `config`."""
    fields = applied_fields(live, manager)
    if fields is None:
        return False
    wanted = {name: value for name, value in config.items() if name not in _IDENTITY}
    metadata = wanted.pop("metadata", {})
    rest = {name: value for name, value in metadata.items() if name not in _METADATA_IDENTITY}
    if rest:
        wanted["metadata"] = rest
    return _map_matches(live, wanted, fields, quantities=False)


def applied_values(live: Mapping[str, Any], manager: str) -> Any:
    """What an object has in the fields that a manager applied: the same as long as nobody changes them."""
    fields = applied_fields(live, manager)
    return None if fields is None else _values(live, fields)


def _values(live: Any, node: Fields) -> Any:
    below = children(node)
    if isinstance(live, dict) and below:
        return {name: _values(live.get(name[2:]), child) for name, child in below.items()}
    if isinstance(live, list) and below and next(iter(below)).startswith("k:"):
        found: list[Any] = []
        for element, child in below.items():
            keys = orjson.loads(element[2:])
            found += [_values(item, child) for item in live if _has_keys(item, keys, missing=False)]
        return found
    return live


def _matches(live: Any, wanted: Any, node: Fields, *, name: str, quantities: bool) -> bool:
    below = children(node)
    if isinstance(wanted, dict):
        if below:
            return isinstance(live, dict) and _map_matches(
                live, wanted, below, quantities=name in _QUANTITIES_BY_NAME
            )
        return live == wanted if wanted else isinstance(live, dict)
    if isinstance(wanted, list):
        if below:
            return isinstance(live, list) and _list_matches(live, wanted, below)
        return bool(live == wanted)
    if below or not is_member(node):
        return False
    if live == wanted and (type(live) is bool) == (type(wanted) is bool):
        return True
    return (quantities or name in _QUANTITIES) and _same_quantity(live, wanted)


def _map_matches(
    live: Mapping[str, Any], wanted: Mapping[str, Any], fields: Fields, *, quantities: bool
) -> bool:
    if len(wanted) != len(fields):
        return False
    for name, value in wanted.items():
        node = fields.get("f:" + name)
        if node is None or name not in live:
            return False
        if not _matches(live[name], value, node, name=name, quantities=quantities):
            return False
    return True


def _list_matches(live: list[Any], wanted: list[Any], items: Fields) -> bool:
    if len(wanted) != len(items):
        return False
    element = next(iter(items))
    if element.startswith("v:"):
        return items.keys() == {value_element(item) for item in wanted} and _in_order(live, wanted)
    if not element.startswith("k:"):
        return False
    positions: dict[int, int] = {}
    for element, node in items.items():
        keys = orjson.loads(element[2:])
        mine = [number for number, item in enumerate(wanted) if _has_keys(item, keys, missing=True)]
        theirs = [number for number, item in enumerate(live) if _has_keys(item, keys, missing=False)]
        if len(mine) != 1 or len(theirs) != 1:
            return False
        [position], [found] = mine, theirs
        if not _matches(live[found], wanted[position], node, name="", quantities=False):
            return False
        positions[position] = found
    in_order = [positions[position] for position in sorted(positions)]
    return len(in_order) == len(wanted) and in_order == sorted(in_order)


def _has_keys(item: Any, keys: Mapping[str, Any], *, missing: bool) -> bool:
    """Whether an item is the one with these keys; one that leaves a key out means its default."""
    return isinstance(item, dict) and all(
        item[key] == value if key in item else missing for key, value in keys.items()
    )


def _in_order(live: list[Any], wanted: list[Any]) -> bool:
    remaining = iter(live)
    return all(any(item == candidate for candidate in remaining) for item in wanted)


def _same_quantity(live: Any, wanted: Any) -> bool:
    try:
        return canonical(str(live)) == canonical(str(wanted))
    except ValueError:
        return False
