"""Protobuf decoding: `k8s\\0` envelopes that typed Go clients send, for every built-in kind.

A message is read into the JSON value it stands for, and that is decoded like any other, so both formats
end in the same normal form. Readers are compiled per type from the wire table (numbers) and the schema
table (types).

  envelope = "k8s\\0" + Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: raw, 3: encoding, 4: content type}
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, NamedTuple

from steersman.cluster.codec import json
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.protobuf_wire import BYTES, FIXED64, VARINT, fields, signed, varints
from steersman.cluster.schema.decode import decode_type
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.table import definition
from steersman.cluster.schema.wire import message
from steersman.objects.times import format_micro_time, format_time

__all__ = ["MAGIC", "ProtobufEnvelope", "decode", "open_envelope"]

MAGIC: Final = b"k8s\x00"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: (bytes, value or start, end) → JSON value
Read = Callable[[bytes, int, int], Any]


class ProtobufEnvelope(NamedTuple):
    api_version: str
    kind: str
    raw: bytes


class _Reader(NamedTuple):
    """How to read one field: its wire type, its reader, and where its value goes."""

    name: str
    wire_type: int
    read: Read
    #: one, list, map or inline
    shape: str


def open_envelope(body: bytes) -> ProtobufEnvelope:
    """What an envelope holds. Raises Malformed."""
    if not body:
        raise Malformed("empty data")
    if not body.startswith(MAGIC):
        prefix = " ".join(map(str, MAGIC))
        raise Malformed(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    if len(body) == len(MAGIC):
        raise Malformed("empty body")
    outer = _by_number(body, len(MAGIC), len(body))
    meta = _by_number(body, *outer[1]) if 1 in outer else {}
    raw = body[slice(*outer[2])] if 2 in outer else b""
    return ProtobufEnvelope(_string(body, *meta.get(1, (0, 0))), _string(body, *meta.get(2, (0, 0))), raw)


def decode(name: str, raw: bytes) -> dict[str, Any]:
    """The message of a type, in normal form. Raises Malformed."""
    try:
        value = _message(name)(raw, 0, len(raw))
        return decode_type(name, value).obj
    except DecodeError as error:
        raise Malformed(str(error)) from None
    except RecursionError:
        raise Malformed("exceeded max depth") from None


def _by_number(data: bytes, at: int, end: int) -> dict[int, tuple[int, int]]:
    """Where the byte fields of a small message lie; the last of a number counts."""
    return {each.number: (each.value, each.end) for each in fields(data, at, end) if each.wire_type == BYTES}


@cache
def _message(name: str) -> Read:
    """The reader of a message; its fields are compiled when the first one comes, so types may recurse."""
    readers: dict[int, _Reader] = {}
    ready = False

    def read(data: bytes, at: int, end: int) -> dict[str, Any]:
        nonlocal ready
        if not ready:
            readers.update(_readers(name, definition(name).get("properties", {})))
            ready = True
        return _read_fields(readers, data, at, end)

    return read


def _readers(name: str, properties: dict[str, Any]) -> dict[int, _Reader]:
    readers: dict[int, _Reader] = {}
    for field in message(name).fields:
        if field.inline:
            inner = _readers(field.inline, properties)
            readers[field.number] = _Reader("", BYTES, _inline(inner), "inline")
        elif field.go_type.endswith(".Verbs"):  # the one list that is a message without being in a map
            readers[field.number] = _Reader(field.name, BYTES, _wrapped(properties[field.name]), "one")
        else:
            readers[field.number] = _reader(field.name, properties[field.name])
    return readers


def _inline(readers: dict[int, _Reader]) -> Read:
    return lambda data, at, end: _read_fields(readers, data, at, end)


def _read_fields(readers: dict[int, _Reader], data: bytes, at: int, end: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for number, wire_type, start, stop in fields(data, at, end):
        reader = readers.get(number)
        if reader is None:
            continue
        name, expected, read, shape = reader
        if wire_type != expected:
            if shape == "list" and wire_type == BYTES and expected == VARINT:
                out.setdefault(name, []).extend(read(data, each, 0) for each in varints(data, start, stop))
                continue
            raise Malformed(f"proto: wrong wireType = {wire_type} for field {name[:1].upper()}{name[1:]}")
        value = read(data, start, stop)
        if shape == "one":
            out[name] = value
        elif shape == "list":
            out.setdefault(name, []).append(value)
        elif shape == "map":
            out.setdefault(name, {})[value[0]] = value[1]
        else:
            out.update(value)
    return out


def _reader(name: str, schema: dict[str, Any]) -> _Reader:
    kind = schema.get("type")
    if kind == "array":
        return _Reader(name, *_value(schema["items"]), "list")
    if kind == "object" and "additionalProperties" in schema:
        return _Reader(name, BYTES, _entry(schema["additionalProperties"]), "map")
    return _Reader(name, *_value(schema), "one")


def _value(schema: dict[str, Any]) -> tuple[int, Read]:
    """The wire type and reader of a single value."""
    reference = schema.get("$ref")
    if reference is not None:
        return BYTES, _SPECIAL.get(reference) or _message(reference)
    match schema["type"], schema.get("format"):
        case "string", "byte":
            return BYTES, _read_bytes
        case "string", _:
            return BYTES, _string
        case "boolean", _:
            return VARINT, _read_bool
        case "integer", "int32":
            return VARINT, _read_int32
        case "integer", _:
            return VARINT, _read_int64
        case "array", _:  # a list inside a list or map is wrapped in a message of its own
            return BYTES, _wrapped(schema)
    return FIXED64, _read_double


def _wrapped(schema: dict[str, Any]) -> Read:
    readers = {1: _reader("items", schema)}
    return lambda data, at, end: _read_fields(readers, data, at, end).get("items", [])


def _entry(values: dict[str, Any]) -> Read:
    """A map's entry: a message of key and value, either left out when empty."""
    wire_type, read_value = _value(values)
    readers = {1: _Reader("key", BYTES, _string, "one"), 2: _Reader("value", wire_type, read_value, "one")}
    absent: Callable[[], Any] = {
        BYTES: lambda: read_value(b"", 0, 0),
        VARINT: lambda: read_value(b"", 0, 0),
    }.get(wire_type, float)

    def read(data: bytes, at: int, end: int) -> tuple[str, Any]:
        entry = _read_fields(readers, data, at, end)
        return entry.get("key", ""), entry["value"] if "value" in entry else absent()

    return read


def _string(data: bytes, at: int, end: int) -> str:
    return data[at:end].decode("utf-8", "replace")


def _read_bytes(data: bytes, at: int, end: int) -> str:
    return base64.b64encode(data[at:end]).decode()


def _read_bool(data: bytes, value: int, end: int) -> bool:
    return value != 0


def _read_int32(data: bytes, value: int, end: int) -> int:
    return signed(value, 32)


def _read_int64(data: bytes, value: int, end: int) -> int:
    return signed(value, 64)


def _read_double(data: bytes, at: int, end: int) -> float:
    number: float = struct.unpack_from("<d", data, at)[0]
    return number


# Types whose message is not their JSON form.


def _moment(data: bytes, at: int, end: int) -> datetime | None:
    """Time{1: seconds, 2: nanos}; no bytes at all are the zero time."""
    if at == end:
        return None
    numbers = {each.number: each.value for each in fields(data, at, end) if each.wire_type == VARINT}
    seconds, nanos = signed(numbers.get(1, 0), 64), signed(numbers.get(2, 0), 32)
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise Malformed(f"time out of range: {seconds} seconds") from None


def _read_time(data: bytes, at: int, end: int) -> str | None:
    moment = _moment(data, at, end)
    return format_time(moment) if moment else None


def _read_micro_time(data: bytes, at: int, end: int) -> str | None:
    moment = _moment(data, at, end)
    return format_micro_time(moment) if moment else None


def _read_quantity(data: bytes, at: int, end: int) -> str:
    found = _by_number(data, at, end)
    return _string(data, *found[1]) if 1 in found else "0"


def _read_int_or_string(data: bytes, at: int, end: int) -> int | str:
    """IntOrString{1: type (1 is string), 2: intVal, 3: strVal}"""
    numbers = {1: 0, 2: 0}
    text = ""
    for each in fields(data, at, end):
        if each.wire_type == VARINT:
            numbers[each.number] = each.value
        elif each.number == 3:
            text = _string(data, each.value, each.end)
    return text if numbers[1] else signed(numbers[2], 32)


def _read_raw(data: bytes, at: int, end: int) -> Any:
    """A message around JSON: RawExtension, FieldsV1, JSON."""
    found = _by_number(data, at, end)
    raw = data[slice(*found[1])] if 1 in found else b""
    return json.parse(raw) if raw else None


def _read_schema_or_array(data: bytes, at: int, end: int) -> Any:
    read = _message(_EXTENSIONS + "JSONSchemaProps")
    readers = {1: _Reader("schema", BYTES, read, "one"), 2: _Reader("schemas", BYTES, read, "list")}
    found = _read_fields(readers, data, at, end)
    return found.get("schemas") or found.get("schema")


def _read_schema_or_bool(data: bytes, at: int, end: int) -> Any:
    readers = {
        1: _Reader("allows", VARINT, _read_bool, "one"),
        2: _Reader("schema", BYTES, _message(_EXTENSIONS + "JSONSchemaProps"), "one"),
    }
    found = _read_fields(readers, data, at, end)
    return found["schema"] if "schema" in found else found.get("allows", False)


def _read_schema_or_strings(data: bytes, at: int, end: int) -> Any:
    readers = {
        1: _Reader("schema", BYTES, _message(_EXTENSIONS + "JSONSchemaProps"), "one"),
        2: _Reader("strings", BYTES, _string, "list"),
    }
    found = _read_fields(readers, data, at, end)
    return found.get("strings") or found.get("schema")


_SPECIAL: Final[dict[str, Read]] = {
    _META + "Time": _read_time,
    _META + "MicroTime": _read_micro_time,
    _META + "FieldsV1": _read_raw,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _read_raw,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _read_quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _read_int_or_string,
    _EXTENSIONS + "JSON": _read_raw,
    _EXTENSIONS + "JSONSchemaPropsOrArray": _read_schema_or_array,
    _EXTENSIONS + "JSONSchemaPropsOrBool": _read_schema_or_bool,
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": _read_schema_or_strings,
}
