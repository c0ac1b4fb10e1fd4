"""A custom resource's schema as the shape that patches and field ownership work with."""

from __future__ import annotations

from typing import Any, Final, cast

from steersman.cluster.schema.shapes import schema_named
from steersman.cluster.schema.structural.node import Node
from steersman.objects.schemas import ListType, Schema

__all__ = ["to_schema"]

_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_STRING: Final = Schema("scalar", scalar="string")
#: Without a schema, maps are owned key by key.
_UNTYPED: Final = Schema("any", preserves_unknown=True)


def to_schema(node: Node, *, resource: bool = True, free: bool = False) -> Schema:
    """The shape of a node; a resource has apiVersion, kind and metadata whatever its schema says. What is
    inside something that keeps unknown fields (`free`) has them, too."""
    free = free or node.preserves_unknown
    if node.int_or_string:
        return _UNTYPED
    if node.type == "array":
        return _list(node, free)
    if node.type == "object" or node.properties or resource:
        return _object(node, resource or node.embedded, free)
    if node.type:
        return Schema("scalar", scalar=node.type, format=node.raw.get("format", ""))
    return _UNTYPED


def _object(node: Node, resource: bool, free: bool) -> Schema:
    atomic = node.map_type == "atomic"
    if node.additional and not node.properties and not resource:
        values = to_schema(node.values, resource=False, free=free) if node.values else _UNTYPED
        return Schema("map", values=values, atomic=atomic)
    properties: dict[str, Any] = {
        key: to_schema(child, resource=False, free=free) for key, child in node.properties.items()
    }
    if resource:
        metadata = schema_named(_OBJECT_META)
        properties |= {"apiVersion": _STRING, "kind": _STRING, "metadata": metadata}
    return Schema(
        "struct",
        properties=properties,
        required=tuple(node.raw.get("required") or ()),
        atomic=atomic,
        # An object of which no field is known may have any.
        preserves_unknown=free or not properties,
    )


def _list(node: Node, free: bool) -> Schema:
    items = node.items or Node()
    defaults = {
        key: items.properties[key].default
        for key in node.list_keys
        if key in items.properties and items.properties[key].default is not None
    }
    return Schema(
        "list",
        values=to_schema(items, resource=False, free=free),
        list_type=cast(ListType, node.list_type or "atomic"),
        keys=node.list_keys,
        key_defaults=defaults,
    )
