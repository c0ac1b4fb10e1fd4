"""OpenAPI version 2 as protobuf: the `openapi.v2.Document` message that kubectl asks for.

Encodes the JSON form of a document by tables of field numbers. What OpenAPI leaves open (defaults, enums,
x- extensions) travels as YAML text inside `Any{2: yaml}`; JSON is YAML, so JSON it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

__all__ = ["encode"]

Encoder = Callable[[Any], bytes]


def encode(document: Mapping[str, Any]) -> bytes:
    """A version 2 document as protobuf."""
    return _message(_DOCUMENT)(document)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _delimited(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


class _Field:
    """How one JSON key is encoded: its number, the encoder of its value, whether it is a list."""

    __slots__ = ("encoder", "number", "repeated")

    def __init__(self, number: int, encoder: Encoder, *, repeated: bool = False) -> None:
        self.number = number
        self.encoder = encoder
        self.repeated = repeated

    def encode(self, value: Any) -> bytes:
        values = value if self.repeated else [value]
        return b"".join(_delimited(self.number, self.encoder(each)) for each in values)


class _Flag:
    """A boolean; only true is written."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def encode(self, value: Any) -> bytes:
        return _varint(self.number << 3) + b"\x01" if value else b""


_Fields = dict[str, "_Field | _Flag"]


def _message(fields: _Fields, extensions: int = 0) -> Encoder:
    """Known keys by their fields, x- keys as named values at number `extensions`; the rest is left out."""

    def encode_message(value: Mapping[str, Any]) -> bytes:
        out = bytearray()
        for key, item in value.items():
            field = fields.get(key)
            if field is not None:
                out += field.encode(item)
            elif extensions and key.startswith("x-"):
                out += _delimited(extensions, _delimited(1, key.encode()) + _delimited(2, _any(item)))
        return bytes(out)

    return encode_message


def _text(value: str) -> bytes:
    return value.encode()


def _any(value: Any) -> bytes:
    return _delimited(2, orjson.dumps(value) + b"\n")


def _wrapped(number: int, encoder: Encoder) -> Encoder:
    """A message that holds one value: a member of a oneof, a list of one."""
    return lambda value: _delimited(number, encoder(value))


def _named(number: int, encoder: Encoder) -> Encoder:
    """A map as a message of (name, value) pairs."""

    def encode_named(value: Mapping[str, Any]) -> bytes:
        return b"".join(
            _delimited(number, _delimited(1, key.encode()) + _delimited(2, encoder(item)))
            for key, item in value.items()
        )

    return encode_named


def _schema(value: Mapping[str, Any]) -> bytes:
    return _encode_schema(value)


def _type(value: Any) -> bytes:
    names = value if isinstance(value, list) else [value]
    return b"".join(_delimited(1, name.encode()) for name in names)


def _additional(value: Any) -> bytes:
    """A schema, or whether there may be any."""
    return _Flag(2).encode(value) if isinstance(value, bool) else _delimited(1, _schema(value))


_SCHEMA: Final[_Fields] = {
    "$ref": _Field(1, _text),
    "format": _Field(2, _text),
    "title": _Field(3, _text),
    "description": _Field(4, _text),
    "default": _Field(5, _any),
    "pattern": _Field(13, _text),
    "uniqueItems": _Flag(16),
    "required": _Field(19, _text, repeated=True),
    "enum": _Field(20, _any, repeated=True),
    "additionalProperties": _Field(21, _additional),
    "type": _Field(22, _type),
    "items": _Field(23, _wrapped(1, _schema)),
    "allOf": _Field(24, _schema, repeated=True),
    "properties": _Field(25, _named(1, _schema)),
}
_encode_schema: Final = _message(_SCHEMA, extensions=31)

_INFO: Final[_Fields] = {"title": _Field(1, _text), "version": _Field(2, _text)}
_BODY: Final[_Fields] = {
    "description": _Field(1, _text),
    "name": _Field(2, _text),
    "in": _Field(3, _text),
    "required": _Flag(4),
    "schema": _Field(5, _schema),
}
_QUERY: Final[_Fields] = {
    "required": _Flag(1),
    "in": _Field(2, _text),
    "description": _Field(3, _text),
    "name": _Field(4, _text),
    "type": _Field(6, _text),
    "uniqueItems": _Flag(20),
}
_PATH: Final[_Fields] = {
    "required": _Flag(1),
    "in": _Field(2, _text),
    "description": _Field(3, _text),
    "name": _Field(4, _text),
    "type": _Field(5, _text),
    "uniqueItems": _Flag(19),
}
#: Parameter: oneof body = 1, other = 2, which is again one of query = 3, path = 4.
_PARAMETERS: Final[dict[str, Encoder]] = {
    "body": _wrapped(1, _message(_BODY)),
    "query": _wrapped(2, _wrapped(3, _message(_QUERY))),
    "path": _wrapped(2, _wrapped(4, _message(_PATH))),
}


def _parameter(value: Mapping[str, Any]) -> bytes:
    return _delimited(1, _PARAMETERS[value["in"]](value))


_RESPONSE: Final[_Fields] = {"description": _Field(1, _text), "schema": _Field(2, _wrapped(1, _schema))}
_OPERATION: Final[_Fields] = {
    "tags": _Field(1, _text, repeated=True),
    "description": _Field(3, _text),
    "operationId": _Field(5, _text),
    "produces": _Field(6, _text, repeated=True),
    "consumes": _Field(7, _text, repeated=True),
    "parameters": _Field(8, _parameter, repeated=True),
    "responses": _Field(9, _named(1, _wrapped(1, _message(_RESPONSE)))),
    "schemes": _Field(10, _text, repeated=True),
}
_encode_operation: Final = _message(_OPERATION, extensions=13)
_PATH_ITEM: Final[_Fields] = {
    "get": _Field(2, _encode_operation),
    "put": _Field(3, _encode_operation),
    "post": _Field(4, _encode_operation),
    "delete": _Field(5, _encode_operation),
    "patch": _Field(8, _encode_operation),
    "parameters": _Field(9, _parameter, repeated=True),
}
_DOCUMENT: Final[_Fields] = {
    "swagger": _Field(1, _text),
    "info": _Field(2, _message(_INFO)),
    "paths": _Field(8, _named(2, _message(_PATH_ITEM))),
    "definitions": _Field(9, _named(1, _schema)),
}
