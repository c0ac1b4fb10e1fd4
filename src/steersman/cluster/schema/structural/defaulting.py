"""Defaulting: what the schema says a field is when the object leaves it out, in place.

Applied to objects that clients write, to objects read from the store, and to objects converted to another
version. Each node that has defaults at or below it is compiled once into a closure; the others cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from steersman.cluster.schema.structural.node import Node
from steersman.cluster.schema.structural.pruning import compile_pruner

__all__ = ["SetDefaults", "compile_defaulter"]

#: Fills a map or list in place.
SetDefaults = Callable[[Any], None]


def compile_defaulter(node: Node) -> SetDefaults | None:
    """How values of this node are filled; None when there is nothing to fill."""
    if not any(child.any(_has_default) for child in node.children()):
        return None
    filled = [
        (key, _pruned_default(child), child.nullable)
        for key, child in node.properties.items()
        if child.default is not None
    ]
    below = [
        (key, fill)
        for key, child in node.properties.items()
        if (fill := compile_defaulter(child)) is not None
    ]
    declared = node.properties.keys()
    set_values = _element_defaulter(node.values)
    set_items = _element_defaulter(node.items)

    def set_defaults(value: Any) -> None:
        if isinstance(value, list):
            if set_items is not None:
                for index, item in enumerate(value):
                    set_items(value, index, item)
            return
        for key, default, nullable in filled:
            if value.get(key) is None and not (nullable and key in value):
                value[key] = deepcopy(default) if default.__class__ in (dict, list) else default
        for key, fill in below:
            item = value.get(key)
            if isinstance(item, (dict, list)):
                fill(item)
        if set_values is not None:
            for key, item in value.items():
                if key not in declared:
                    set_values(value, key, item)

    return set_defaults


def _has_default(node: Node) -> bool:
    return node.default is not None


def _pruned_default(node: Node) -> Any:
    """A default as it is given to objects; a definition of old may have one with unknown fields."""
    default = deepcopy(node.default)
    if isinstance(default, (dict, list)):
        compile_pruner(node)(default, None, [])
    return default


def _element_defaulter(node: Node | None) -> Callable[[Any, Any, Any], None] | None:
    """Fills one item of a list or value of a map; replaces a null that may not be one."""
    if node is None or not node.any(_has_default):
        return None
    default, nullable = _pruned_default(node), node.nullable
    fill = compile_defaulter(node)

    def set_element(container: Any, key: Any, item: Any) -> None:
        if item is None and not nullable and default is not None:
            item = container[key] = deepcopy(default)
        if fill is not None and isinstance(item, (dict, list)):
            fill(item)

    return set_element
