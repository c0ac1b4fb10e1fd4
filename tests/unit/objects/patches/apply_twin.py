"""A deliberately simple server-side apply, to test the real one against.

An object is a flat mapping of paths to leaves; who owns what is a set of paths. Merging is updating the
mapping, pruning is set arithmetic. No order of list items, no versions, no empty containers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steersman.objects.schemas import Schema

Path = tuple[str, ...]
Nodes = dict[Path, Any]

#: The value of a path that is no leaf.
BRANCH = object()


def nodes_of(value: Any, schema: Schema, at: Path = ()) -> Nodes:
    """Every path of a value."""
    if is_leaf(schema):
        return {at: value}
    nodes: Nodes = {at: BRANCH} if at else {}
    for element, child, child_schema in parts(value, schema):
        nodes |= nodes_of(child, child_schema, (*at, element))
    return nodes


def is_leaf(schema: Schema) -> bool:
    return (
        schema.atomic or schema.kind == "scalar" or (schema.kind == "list" and schema.list_type == "atomic")
    )


def parts(value: Any, schema: Schema) -> list[tuple[str, Any, Schema]]:
    if schema.kind == "struct":
        return [(f"f:{name}", value[name], schema.property(name) or schema) for name in value]
    if schema.kind == "map":
        return [(f"f:{name}", value[name], schema.element()) for name in value]
    if schema.list_type == "set":
        return [(f'v:"{item}"', item, schema.element()) for item in value]
    return [(f'k:{{"name":"{item["name"]}"}}', item, schema.element()) for item in value]


def named(path: Path, schema: Schema) -> bool:
    """Whether a path ends in a declared field of a struct."""
    for element in path[:-1]:
        schema = (schema.property(element[2:]) or schema) if schema.kind == "struct" else schema.element()
    return schema.kind == "struct"


@dataclass
class Twin:
    schema: Schema
    nodes: Nodes = field(default_factory=dict)
    #: By manager and operation.
    owners: dict[tuple[str, str], set[Path]] = field(default_factory=dict)

    def apply(self, manager: str, config: Any, force: bool) -> set[tuple[str, Path]]:
        """The conflicts; nothing is done if there are any and it is not forced."""
        wanted = nodes_of(config, self.schema)
        own = {path for path in wanted if wanted[path] is not BRANCH or not named(path, self.schema)}
        last = self.owners.get((manager, "Apply"), set())
        others = {key: fields for key, fields in self.owners.items() if key != (manager, "Apply")}
        merged = {**self.nodes, **wanted}
        owned = self._with_named(own.union(*others.values()))
        lost = self._with_named(last) - owned
        merged = {path: leaf for path, leaf in merged.items() if not _below_any(path, lost)}
        _drop_empty(merged)
        changed = self._changed(merged)
        conflicts = {(key[0], path) for key, fields in others.items() for path in fields & changed}
        if conflicts and not force:
            return conflicts
        self._give_up(merged, changed, keep=(manager, "Apply"))
        self._own((manager, "Apply"), own)
        self.nodes = merged
        return set()

    def update(self, manager: str, obj: Any) -> None:
        new = nodes_of(obj, self.schema)
        changed = self._changed(new) | {path for path in new if path not in self.nodes}
        self._give_up(new, changed)
        self._own((manager, "Update"), self.owners.get((manager, "Update"), set()) | changed)
        self.nodes = new

    def _with_named(self, fields: set[Path]) -> set[Path]:
        """The declared fields that lead somewhere belong to it."""
        leading = {path[:depth] for path in fields for depth in range(1, len(path))}
        return fields | {path for path in leading if named(path, self.schema)}

    def _changed(self, new: Nodes) -> set[Path]:
        return {path for path in new if path in self.nodes and self.nodes[path] != new[path]}

    def _give_up(self, new: Nodes, changed: set[Path], keep: tuple[str, str] | None = None) -> None:
        for key in list(self.owners):
            if key != keep:
                gone = {path for path in self.owners[key] if path not in new}
                self._own(key, self.owners[key] - changed - gone)

    def _own(self, key: tuple[str, str], fields: set[Path]) -> None:
        if fields:
            self.owners[key] = fields
        else:
            self.owners.pop(key, None)


def _below_any(path: Path, roots: set[Path]) -> bool:
    return any(path[:depth] in roots for depth in range(1, len(path) + 1))


def _drop_empty(nodes: Nodes) -> None:
    """A container without anything in it is not there."""
    for path in sorted(nodes, key=len, reverse=True):
        if nodes[path] is BRANCH and not any(
            other[: len(path)] == path and len(other) > len(path) for other in nodes
        ):
            del nodes[path]
