"""CEL types of the built-in kinds, for type checking policies.

Only types: built-in objects are dynamic values to expressions, as in kube-apiserver. What has no single type
in OpenAPI (quantities) is not visible.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.cel import types
from steersman.cluster.cel.declarations import Declaration, simple
from steersman.cluster.cel.escaping import unescape
from steersman.cluster.cel.types import Type
from steersman.objects.schemas import Schema

__all__ = ["declare_builtin"]

_SCALARS: Final = {
    "string": types.STRING,
    "integer": types.INT,
    "number": types.DOUBLE,
    "boolean": types.BOOL,
    "time": types.TIMESTAMP,
    "micro-time": types.TIMESTAMP,
    "bytes": types.BYTES,
}


def declare_builtin(schema: Schema) -> Declaration:
    """A built-in type as CEL sees it; fields are resolved when they are asked for."""
    return simple(_type(schema) or types.DYN)


def _type(schema: Schema) -> Type | None:
    match schema.kind:
        case "struct":
            return types.object_type(schema.name or "object", lambda name: _field(schema, name))
        case "map":
            element = _type(schema.element())
            return None if element is None else types.map_of(types.STRING, element)
        case "list":
            element = _type(schema.element())
            return None if element is None else types.list_of(element)
        case "scalar" if schema.scalar == "quantity":
            return None
        case "scalar":
            return _SCALARS.get(schema.scalar, types.DYN)
    return types.DYN


def _field(schema: Schema, identifier: str) -> Type | None:
    # Words reserved to CEL may be written as they are.
    for name in (unescape(identifier), identifier):
        found = None if name is None else schema.property(name)
        if found is not None:
            return _type(found)
    return None
