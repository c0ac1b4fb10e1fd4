"""Pruning: fields that the schema does not name are dropped, in place, and reported by path.

Each node is compiled once into a closure. `x-kubernetes-preserve-unknown-fields` keeps unknown fields
but still prunes inside the known ones; the metadata of a resource is never pruned here (`embedded` brings
it into shape). Nulls where the schema allows none go too, unless a default will replace them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steersman.cluster.schema.structural.node import META_FIELDS, Node

__all__ = ["Place", "Prune", "compile_null_pruner", "compile_pruner", "path_of"]

#: Where a value is: its parent's place and the key or index in it.
Place = tuple[Any, str | int] | None
#: Prunes a map or list in place; what it drops is appended to the list as (place of the parent, key).
Prune = Callable[[Any, Place, list[tuple[Place, str]]], None]
PruneNulls = Callable[[Any], None]


def path_of(place: Place, key: str) -> str:
    """A place in the form of Kubernetes' unknown fields: `spec.list[0].name`."""
    steps = ["." + key if place is not None else key]
    while place is not None:
        parent, step = place
        steps.append(f"[{step}]" if isinstance(step, int) else step if parent is None else f".{step}")
        place = parent
    return "".join(reversed(steps))


def compile_pruner(node: Node, *, resource: bool = False) -> Prune:
    """The pruner of a node; `resource` when it is the root of a resource."""
    keep_unknown = node.preserves_unknown
    keeps_meta = node.embedded or resource
    children = {key: compile_pruner(child) for key, child in node.properties.items()}
    if keeps_meta:
        children = {key: child for key, child in children.items() if key not in META_FIELDS}
    find = children.get
    values: Prune | None = None
    if node.additional is not None:
        values = compile_pruner(node.additional) if isinstance(node.additional, Node) else prune_everything
    prune_items = _items_pruner(node)

    def prune(value: Any, place: Place, dropped: list[tuple[Place, str]]) -> None:
        if isinstance(value, list):
            prune_items(value, place, dropped)
            return
        unknown = None
        for key, item in value.items():
            child = find(key)
            if child is None:
                if keeps_meta and key in META_FIELDS:
                    continue
                if values is None:
                    if not keep_unknown:
                        unknown = [*unknown, key] if unknown else [key]
                    continue
                child = values
            if isinstance(item, (dict, list)):
                child(item, (place, key), dropped)
        for key in unknown or ():
            del value[key]
            if place is not None or key not in META_FIELDS:
                dropped.append((place, key))

    return prune


def _items_pruner(node: Node) -> Prune:
    if node.items is not None:
        prune_item = _unknown_keeper(node.items) if node.preserves_unknown else compile_pruner(node.items)
    else:
        prune_item = _keep_everything if node.preserves_unknown else prune_everything

    def prune(value: list[Any], place: Place, dropped: list[tuple[Place, str]]) -> None:
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                prune_item(item, (place, index), dropped)

    return prune


def _unknown_keeper(node: Node) -> Prune:
    """The items of a list that preserves unknown fields preserve them as well."""
    copy = Node(
        properties=node.properties,
        items=node.items,
        additional=node.additional,
        embedded=node.embedded,
        preserves_unknown=True,
    )
    return compile_pruner(copy)


def _keep_everything(value: Any, place: Place, dropped: list[tuple[Place, str]]) -> None:
    return None


def prune_everything(value: Any, place: Place, dropped: list[tuple[Place, str]]) -> None:
    """Prunes where there is no schema: no field is known."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                prune_everything(item, (place, index), dropped)
        return
    dropped.extend((place, key) for key in value)
    value.clear()


def compile_null_pruner(node: Node) -> PruneNulls | None:
    """Drops nulls of fields that are neither nullable nor have a default; None when there are no fields."""
    prune_item = compile_null_pruner(node.items) if node.items is not None else None
    fields = {key: _null_rule(child) for key, child in node.properties.items()}
    values = _null_rule(node.values) if node.values is not None else (False, None)
    if not fields and node.values is None and prune_item is None:
        return None
    find = fields.get

    def prune(value: Any) -> None:
        if isinstance(value, list):
            if prune_item is not None:
                for item in value:
                    if isinstance(item, (dict, list)):
                        prune_item(item)
            return
        nulls = None
        for key, item in value.items():
            if item is not None and not isinstance(item, (dict, list)):
                continue
            goes, prune_below = find(key, values)
            if item is None:
                if goes:
                    nulls = [*nulls, key] if nulls else [key]
            elif prune_below is not None:
                prune_below(item)
        for key in nulls or ():
            del value[key]

    return prune


def _null_rule(node: Node) -> tuple[bool, PruneNulls | None]:
    """Whether a null of this node goes, and how nulls below it do."""
    return not node.nullable and node.default is None, compile_null_pruner(node)
