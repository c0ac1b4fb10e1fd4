"""Schemas as CEL declarations: the type and maximum size of each value, and the conversion of JSON to CEL
values.

`declare` reads an OpenAPI v3 schema (a CRD's), `declare_fields` makes an object type by hand (`request`).
What a schema leaves untyped is not visible to expressions, as in Kubernetes.

JSON needs converting only where a schema says so: times, bytes, numbers that may be written without a
point, lists that are sets or maps, fields whose names are escaped. A declaration without any of these
below it is `plain`, and its values are used as they are.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.cluster.cel import types
from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.escaping import escape
from steersman.cluster.cel.times import parse_duration, parse_timestamp
from steersman.cluster.cel.types import Type
from steersman.cluster.cel.values import MapList, Optional, SchemaMap, SetList, Timestamp

__all__ = [
    "DYN_DECLARATION",
    "MAX_REQUEST_SIZE",
    "Declaration",
    "declare",
    "declare_fields",
    "optional_declaration",
    "simple",
]

#: No value of a request can be larger than the request.
MAX_REQUEST_SIZE: Final = 3 * 1024 * 1024

_STRING_SIZE: Final = 2
_TIME_LENGTHS: Final = {"duration": 32, "date": 12, "date-time": 32}
_TIME_SIZES: Final = {"duration": 3, "date": 12, "date-time": 21}


@dataclass(slots=True, eq=False)
class Declaration:
    """The declaration of one node of a schema."""

    type: Type
    #: The shortest JSON text of a value.
    min_size: int = 1
    #: Most code points, items or entries a value can have; 0 for what has no size.
    max_elements: int = 0
    #: Objects: by CEL name, the JSON name and the declaration.
    fields: dict[str, tuple[str, Declaration]] = field(default_factory=dict)
    #: Lists and maps: of items or values.
    element: Declaration | None = None
    plain: bool = True
    #: What JSON becomes; only called when not `plain`.
    convert: Callable[[Any], Any] = field(default=lambda raw: raw, repr=False)

    def value(self, raw: Any) -> Any:
        """The CEL value of a JSON value of this schema."""
        return raw if self.plain or raw is None else self.convert(raw)

    @property
    def max_cardinality(self) -> int:
        """How often a value of this schema could occur in one request."""
        return MAX_REQUEST_SIZE // (self.min_size + 1)

    def at(self, path: tuple[str, ...]) -> Declaration | None:
        """The declaration below this one along field names, `@items`, `@values` and `@keys`."""
        node: Declaration | None = self
        for step in path:
            if node is None:
                return None
            if step in {"@items", "@values"}:
                node = node.element
            elif step == "@keys":
                node = simple(types.STRING) if node.type.kind == "map" else None
            else:
                node = node.fields[step][1] if step in node.fields else None
        return node


def simple(kind: Type, min_size: int = 1, max_elements: int = 0) -> Declaration:
    """A declaration of a type that needs no conversion."""
    return Declaration(kind, min_size, max_elements)


DYN_DECLARATION: Final = simple(types.DYN)


def declare_fields(name: str, fields: Mapping[str, Declaration]) -> Declaration:
    """An object type made by hand; field names are JSON names."""
    return _object(name, {key: (child, False) for key, child in fields.items()}, 2)


def optional_declaration(declared: Declaration) -> Declaration:
    """The same, but it may be absent: values are `Optional`s of JSON values (`oldSelf`)."""

    def convert(given: Any) -> Any:
        return Optional(declared.value(given.value)) if given.present else given

    return Declaration(
        types.optional_of(declared.type),
        declared.min_size,
        declared.max_elements,
        fields=declared.fields,
        element=declared.element,
        plain=declared.plain,
        convert=convert,
    )


def declare(
    schema: Mapping[str, Any], name: str = "selfType", *, resource: bool = False
) -> Declaration | None:
    """What CEL sees of an OpenAPI schema; None when it sees nothing (an untyped schema).

    `resource`: the schema is of a whole object, whose metadata has a name and a generateName at least.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return simple(types.DYN, 1, _max_length(schema))
    if resource:
        schema = _with_metadata(schema)
    builder = _BUILDERS.get(str(schema.get("type", "")))
    return None if builder is None else builder(schema, name)


def _embedded(schema: Mapping[str, Any], name: str) -> Declaration | None:
    return declare(schema, name, resource=bool(schema.get("x-kubernetes-embedded-resource")))


def _with_metadata(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    text = {"type": "string"}
    known = {"name": text, "generateName": text}
    properties = dict(schema.get("properties") or {})
    given = (properties.get("metadata") or {}).get("properties") or {}
    if not (known.keys() <= given.keys() and {"kind", "apiVersion"} <= properties.keys()):
        metadata = {"type": "object", "properties": known}
        properties |= {"kind": text, "apiVersion": text, "metadata": metadata}
    return {**schema, "properties": properties}


def _max_length(schema: Mapping[str, Any]) -> int:
    if (limit := schema.get("maxLength")) is not None:
        return max(int(limit), 0) * 4  # a code point may take four bytes, and bytes are what it is about
    return MAX_REQUEST_SIZE - 2


def _string(schema: Mapping[str, Any], _name: str) -> Declaration:
    kind = schema.get("format", "")
    if kind in _TIME_LENGTHS:
        declared = types.DURATION if kind == "duration" else types.TIMESTAMP
        return Declaration(
            declared, _TIME_SIZES[kind], _TIME_LENGTHS[kind], plain=False, convert=_TIME_READERS[kind]
        )
    if kind == "byte":
        limit = schema.get("maxLength")
        most = MAX_REQUEST_SIZE - 2 if limit is None else max(int(limit), 0)
        return Declaration(types.BYTES, _STRING_SIZE, most, plain=False, convert=_bytes)
    if schema.get("maxLength") is None and (choices := schema.get("enum")):
        longest = max((len(choice.encode()) for choice in choices if isinstance(choice, str)), default=0)
        return simple(types.STRING, _STRING_SIZE, longest)
    return simple(types.STRING, _STRING_SIZE, _max_length(schema))


def _array(schema: Mapping[str, Any], name: str) -> Declaration | None:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return None
    element = _embedded(items, f"{name}.@idx")
    if element is None:
        return None
    limit = schema.get("maxItems")
    most = (MAX_REQUEST_SIZE - 2) // (element.min_size + 1) if limit is None else max(int(limit), 0)
    list_type = schema.get("x-kubernetes-list-type")
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())

    def convert(raw: Any) -> Any:
        if not isinstance(raw, list):
            return raw
        values = raw if element.plain else [element.value(item) for item in raw]
        if list_type == "set":
            return SetList(values)
        return MapList(values, keys) if list_type == "map" else values

    plain = element.plain and list_type not in {"set", "map"}
    return Declaration(types.list_of(element.type), 2, most, element=element, plain=plain, convert=convert)


def _mapping(schema: Mapping[str, Any], name: str) -> Declaration | None:
    values = schema.get("additionalProperties")
    if not isinstance(values, Mapping):
        return _structure(schema, name)
    element = _embedded(values, f"{name}.@elem")
    if element is None:
        return None
    limit = schema.get("maxProperties")
    most = (MAX_REQUEST_SIZE - 2) // (element.min_size + 6) if limit is None else max(int(limit), 0)

    def child(raw: dict[str, Any], key: str) -> Any:
        return element.value(raw[key])

    def convert(raw: Any) -> Any:
        return SchemaMap(raw, child, list, _nothing) if isinstance(raw, dict) else raw

    kind = types.map_of(types.STRING, element.type)
    return Declaration(kind, 2, most, element=element, plain=element.plain, convert=convert)


def _structure(schema: Mapping[str, Any], name: str) -> Declaration:
    required = set(schema.get("required") or ())
    fields: dict[str, tuple[Declaration, bool]] = {}
    size = 2
    for key, part in (schema.get("properties") or {}).items():
        child = _embedded(part, f"{name}.{key}") if isinstance(part, Mapping) else None
        if child is None:
            continue
        fields[key] = (child, key in required)
        if key in required and part.get("default") is None:
            size += len(key.encode()) + child.min_size + 4
    return _object(name, fields, size)


def _object(name: str, parts: Mapping[str, tuple[Declaration, bool]], size: int) -> Declaration:
    fields: dict[str, tuple[str, Declaration]] = {}
    for key, (child, _required) in parts.items():
        identifier = escape(key)
        if identifier is not None:
            fields[identifier] = (key, child)

    reachable = {key for key, _ in fields.values()}

    def found(identifier: str) -> tuple[str, Declaration] | None:
        # Words reserved to CEL are escaped, but may also be written as they are: `self.namespace`.
        return fields.get(identifier) or fields.get(f"__{identifier}__")

    def field_type(identifier: str) -> Type | None:
        part = found(identifier)
        return None if part is None else part[1].type

    def child_of(raw: dict[str, Any], identifier: str) -> Any:
        part = found(identifier)
        value = None if part is None else raw.get(part[0])
        if part is None or value is None:
            raise KeyError(identifier)
        return part[1].value(value)

    def names_in(raw: dict[str, Any]) -> list[str]:
        return [identifier for identifier, (key, _) in fields.items() if raw.get(key) is not None]

    def hidden_in(raw: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in raw.items() if key not in reachable}

    def convert(raw: Any) -> Any:
        return SchemaMap(raw, child_of, names_in, hidden_in) if isinstance(raw, dict) else raw

    plain = all(child.plain and identifier == key for identifier, (key, child) in fields.items())
    kind = types.object_type(name, field_type)
    return Declaration(kind, size, 0, fields=fields, plain=plain, convert=convert)


def _nothing(_raw: dict[str, Any]) -> dict[str, Any]:
    return {}


def _bytes(raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    try:
        return base64.b64decode(raw, validate=True)
    except binascii.Error as error:
        raise EvaluationError(f"Invalid byte: {error}") from error


def _number(raw: Any) -> Any:
    return float(raw) if type(raw) is int else raw


def _date(raw: str) -> Timestamp:
    return parse_timestamp(raw + "T00:00:00Z")


def _reader(read: Callable[[str], Any], kind: str) -> Callable[[Any], Any]:
    def convert(raw: Any) -> Any:
        if not isinstance(raw, str):
            return raw
        try:
            return read(raw)
        except ValueError as error:
            raise EvaluationError(f"Invalid {kind} {raw}") from error

    return convert


_TIME_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "duration": _reader(parse_duration, "duration"),
    "date": _reader(_date, "date"),
    "date-time": _reader(parse_timestamp, "date"),
}
_BUILDERS: Final[dict[str, Callable[[Mapping[str, Any], str], Declaration | None]]] = {
    "string": _string,
    "array": _array,
    "object": _mapping,
    "boolean": lambda _schema, _name: simple(types.BOOL, 4),
    "integer": lambda _schema, _name: simple(types.INT),
    "number": lambda _schema, _name: Declaration(types.DOUBLE, plain=False, convert=_number),
}
