"""A structural schema as a tree of nodes: what pruning, defaulting, rules and publishing walk along.

`parse` reads the `openAPIV3Schema` of a custom resource definition. What constrains values (minimum,
pattern, anyOf, …) stays in `Node.raw`, where `explain` and `translate` read it; what shapes them is in
the fields. Whether a schema obeys the structural rules is `invariants`' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.cluster.schema.structural.errors import NotStructuralError

__all__ = ["META_FIELDS", "JSONSchema", "Node", "nested", "parse"]

#: A JSONSchemaProps in normal form.
JSONSchema = dict[str, Any]

#: What every resource has, embedded ones too, whether its schema names it or not.
META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})

_UNSUPPORTED: Final = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)


@dataclass(slots=True, eq=False)
class Node:
    """One place in a schema."""

    raw: JSONSchema = field(default_factory=dict)
    type: str = ""
    nullable: bool = False
    #: None means that there is no default: a default of null is none.
    default: Any = None
    properties: dict[str, Node] = field(default_factory=dict)
    items: Node | None = None
    #: A map's values: their schema; or only whether there may be any.
    additional: Node | bool | None = None
    preserves_unknown: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[JSONSchema, ...] = ()

    @property
    def values(self) -> Node | None:
        """The schema of a map's values, None when there is none."""
        return self.additional if isinstance(self.additional, Node) else None

    def child(self, key: str) -> Node | None:
        """The schema of one field or map value."""
        return self.properties.get(key) or self.values

    def children(self) -> Iterator[Node]:
        yield from self.properties.values()
        if self.items is not None:
            yield self.items
        if isinstance(self.additional, Node):
            yield self.additional

    def any(self, test: Callable[[Node], bool]) -> bool:
        """Whether this node or one below it passes the test."""
        return test(self) or any(child.any(test) for child in self.children())


def parse(schema: JSONSchema) -> Node:
    """The tree of a schema. Raises NotStructuralError for what no structural schema can hold."""
    _check_supported(schema)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for clause in schema.get(keyword) or ():
            _check_nested(clause)
    if (negated := schema.get("not")) is not None:
        _check_nested(negated)
    items, additional = schema.get("items"), schema.get("additionalProperties")
    return Node(
        raw=schema,
        type=schema.get("type", ""),
        nullable=schema.get("nullable", False),
        default=schema.get("default"),
        properties={key: parse(child) for key, child in (schema.get("properties") or {}).items()},
        items=parse(items) if items is not None else None,
        additional=parse(additional) if isinstance(additional, dict) else additional,
        preserves_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=schema.get("x-kubernetes-embedded-resource", False),
        int_or_string=schema.get("x-kubernetes-int-or-string", False),
        list_type=schema.get("x-kubernetes-list-type") or "",
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        map_type=schema.get("x-kubernetes-map-type") or "",
        rules=tuple(schema.get("x-kubernetes-validations") or ()),
    )


def _check_supported(schema: JSONSchema) -> None:
    for keyword, shown in _UNSUPPORTED:
        if schema.get(keyword) or (keyword == "additionalItems" and keyword in schema):
            raise NotStructuralError(f"OpenAPIV3Schema '{shown}' is not supported")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        raise NotStructuralError(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
        )
    if isinstance(schema.get("items"), list):
        raise NotStructuralError("OpenAPIV3Schema 'items' must be a schema, but is an array")


def _check_nested(schema: JSONSchema) -> None:
    """What stands in allOf, anyOf, oneOf and not is no node, but has the same limits."""
    _check_supported(schema)
    for child in nested(schema):
        _check_nested(child)


def nested(schema: JSONSchema) -> Iterator[JSONSchema]:
    """Every schema directly inside a schema."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword) or ()
    for keyword in ("properties", "patternProperties", "definitions"):
        yield from (schema.get(keyword) or {}).values()
    for keyword in ("not", "additionalProperties", "additionalItems"):
        if isinstance(child := schema.get(keyword), dict):
            yield child
    items = schema.get("items")
    yield from items if isinstance(items, list) else () if items is None else (items,)
    for child in (schema.get("dependencies") or {}).values():
        if isinstance(child, dict):
            yield child
