"""Lists that are sets or maps: no item, or no key, may occur twice.

Compiled for the schemas that have such lists; an object whose schema has none costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import orjson

from steersman.cluster.schema.structural.node import Node
from steersman.objects.fields import FieldError, Path, duplicate, invalid

__all__ = ["CheckLists", "compile_list_checker", "sorted_keys"]

#: What is repeated in the lists inside a value.
CheckLists = Callable[[Any, Path], list[FieldError]]


def _is_unique_list(node: Node) -> bool:
    return node.list_type in ("set", "map")


def compile_list_checker(node: Node) -> CheckLists | None:
    """Checks the sets and maps at or below a node; None when there are none."""
    if not node.any(_is_unique_list):
        return None
    fields = [
        (key, below)
        for key, child in node.properties.items()
        if (below := compile_list_checker(child)) is not None
    ]
    check_value = compile_list_checker(node.values) if node.values is not None else None
    check_item = compile_list_checker(node.items) if node.items is not None else None

    def check(value: Any, path: Path) -> list[FieldError]:
        errors: list[FieldError] = []
        if isinstance(value, list):
            errors += _repeated(node, value, path)
            if check_item is not None:
                for index, item in enumerate(value):
                    errors += check_item(item, path.index(index))
        elif isinstance(value, dict):
            if check_value is not None:
                for key, item in value.items():
                    errors += check_value(item, path.key(key))
            for key, below in fields:
                if key in value:
                    errors += below(value[key], path.child(key))
        return errors

    return check


def _repeated(node: Node, items: list[Any], path: Path) -> list[FieldError]:
    if len(node.list_keys) == 1 and _texts_differ(node.list_keys[0], items):
        return []
    if node.list_type == "set":
        return [duplicate(path.index(at), sorted_keys(items[at])) for at in _second_occurrences(items)]
    if node.list_type != "map":
        return []
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            return [invalid(path.index(index), item, "must be an object for an array of list-type map")]
    keys = [
        {key: item[key] for key in sorted(node.list_keys) if key in item} if item else {} for item in items
    ]
    return [duplicate(path.index(at), keys[at]) for at in _second_occurrences(keys)]


def _texts_differ(key: str, items: list[Any]) -> bool:
    """The usual case at once: each item has a text of its own as its key."""
    keys = {item.get(key) for item in items if item.__class__ is dict and item.get(key).__class__ is str}
    return len(keys) == len(items)


def _second_occurrences(items: Sequence[Any]) -> list[int]:
    """Where each item that occurs more than once occurs for the second time."""
    seen: dict[Hashable, int] = {}
    found = []
    for index, item in enumerate(items):
        identity: Hashable = (
            orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
            if isinstance(item, (dict, list))
            else (item.__class__, item)
        )
        seen[identity] = times = seen.get(identity, 0) + 1
        if times == 2:
            found.append(index)
    return found


def sorted_keys(value: Any) -> Any:
    """A value with the keys of its maps in order, as Go prints them."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value
