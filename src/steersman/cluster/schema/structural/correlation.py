"""Which old value a part of a new object corresponds to: by field name, and in map lists by key.

Validation tolerates what is wrong but unchanged ("ratcheting"), and transition rules see `oldSelf`; both
ask here. Items of atomic lists and of sets correspond to nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from steersman.cluster.schema.structural.node import Node

__all__ = ["Correlated", "MapList"]


class MapList:
    """The items of an old map list, found by the key of a new one."""

    __slots__ = ("_items", "_keys")

    def __init__(self, node: Node, items: Any) -> None:
        self._keys = node.list_keys if node.list_type == "map" else ()
        self._items: dict[Hashable, Any] = {}
        for item in items if self._keys and isinstance(items, list) else ():
            if (key := self._key(item)) is not None:
                self._items.setdefault(key, item)

    def get(self, item: Any) -> Any:
        """The old item with this item's key, None when there is none."""
        return self._items.get(key) if self._items and (key := self._key(item)) is not None else None

    def _key(self, item: Any) -> Hashable | None:
        if not isinstance(item, dict):
            return None
        values = [item.get(key) for key in self._keys]
        if any(not isinstance(value, (str, int, float)) for value in values):
            return None
        return tuple((value.__class__, value) for value in values)


class Correlated:
    """A value, the old one it corresponds to, and the schema of both."""

    __slots__ = ("_equal", "_old_items", "node", "old", "value")

    def __init__(self, value: Any, old: Any, node: Node) -> None:
        self.value = value
        self.old = old
        self.node = node
        self._equal: bool | None = None
        self._old_items: MapList | None = None

    @property
    def unchanged(self) -> bool:
        """Whether old and new are equal, items of map lists in whatever order."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def key(self, key: str) -> Correlated | None:
        """The correlation of one field, None when the field is new or unknown."""
        if not isinstance(self.value, dict) or not isinstance(self.old, dict):
            return None
        child = self.node.child(key)
        if child is None or key not in self.value or key not in self.old:
            return None
        return Correlated(self.value[key], self.old[key], child)

    def index(self, index: int) -> Correlated | None:
        """The correlation of one item, None when nothing corresponds to it."""
        if not isinstance(self.value, list) or not isinstance(self.old, list) or self.node.items is None:
            return None
        if self._old_items is None:
            self._old_items = MapList(self.node, self.old)
        old = self._old_items.get(self.value[index])
        return None if old is None else Correlated(self.value[index], old, self.node.items)

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if value is None or old is None:
            return value is old
        if isinstance(value, list) and isinstance(old, list) and self.node.list_type == "map":
            children = [self.index(index) for index in range(len(value))]
            return len(value) == len(old) and all(child is not None and child.unchanged for child in children)
        if isinstance(value, dict) and isinstance(old, dict):
            return len(value) == len(old) and all(self._same_field(key) for key in value)
        return _same(value, old)

    def _same_field(self, key: str) -> bool:
        child = self.key(key)
        return child is not None and child.unchanged


def _same(one: Any, other: Any) -> bool:
    """Equality that tells 1, 1.0 and true apart."""
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
