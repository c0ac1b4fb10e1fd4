"""Decoding of parsed JSON into built-in types, exactly as Go would decode and write it again.

`decode` takes what a client sent and returns its *normal form*: unknown fields, nulls and empty optional
fields are gone, fields Go always writes are there, quantities, times and bytes have their canonical
spelling. Unknown and repeated fields are reported by path, in document order; a value of the wrong type
raises DecodeError with Go's words. The codecs call it; defaulting and validation come after.

Each type is compiled, when first met, into a closure over its fields, which takes the value, its place
and the findings of this run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any, Final, NamedTuple

from steersman.cluster.schema import scalars
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.findings import Findings, Place, Repeated
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.scalars import Decode
from steersman.cluster.schema.table import definition, type_name
from steersman.cluster.schema.wire import WireField, message

__all__ = ["SELF_DECODING", "Decoded", "decode", "decode_type", "go_type"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_SPECIAL_ZEROS: Final[dict[str, Callable[[], Any]]] = {"Quantity": lambda: "0", "IntOrString": int}


class Decoded(NamedTuple):
    """An object in normal form, and what Kubernetes would say about it under strict field validation."""

    obj: dict[str, Any]
    strict_errors: list[str]


def decode(gvk: GVK, data: dict[str, Any]) -> Decoded:
    """`data` as an object of a built-in kind. Raises DecodeError, KeyError when the kind is not built in."""
    name = type_name(gvk)
    if name is None:
        raise KeyError(gvk)
    return decode_type(name, data)


def decode_type(name: str, data: dict[str, Any]) -> Decoded:
    """`data` as a value of the named type."""
    findings = Findings()
    try:
        obj = _struct(name)(data, None, findings)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    if findings.error:
        raise DecodeError(findings.error)
    return Decoded(obj, findings.strict_errors())


class _Never:
    """The class of no value: fields with this as their plain class always go through their decoder."""


class _Field(NamedTuple):
    #: Values of exactly this class need no decoding.
    plain: type
    #: Written even when empty.
    keep: bool
    decode: Decode
    #: What messages call the struct it is in, and those embedded on the way to it.
    owner: str


@cache
def _struct(name: str) -> Decode:
    """The decoder of a struct; its fields are compiled when the first value comes, so types may recurse."""
    fields: dict[str, _Field] = {}
    find = fields.get
    always: list[tuple[str, Callable[[], Any]]] = []
    ready = False
    own_name = name.rpartition(".")[2]

    def load() -> None:
        nonlocal ready
        ready = True
        properties = definition(name).get("properties", {})
        wire = message(name).json_fields()
        for key, schema in properties.items():
            known = wire.get(key) or WireField(key, 0, embedded=".TypeMeta")  # apiVersion and kind
            fields[key] = _field(schema, known, own_name)
            if known.always:
                always.append((key, _zero(schema) if not known.pointer else _nothing))

    def decode_struct(value: Any, place: Place, findings: Findings) -> dict[str, Any]:
        if not ready:
            load()
        repeated: Collection[str] = ()
        if value.__class__ is not dict:
            if isinstance(value, Repeated):
                repeated = value.repeated
            else:
                if value is not None:
                    findings.mismatch(value, place, _go_name(name))
                value = {}
        out: dict[str, Any] = {}
        for key, item in value.items():
            field = find(key)
            if field is None:
                findings.unknown(place, key)
                continue
            if repeated and key in repeated:
                findings.duplicate(place, key)
            plain, keep, decode_field, owner = field
            if item.__class__ is plain:
                if item or keep:
                    out[key] = item
            elif item is not None:
                item = decode_field(item, (place, key, owner), findings)
                if item or keep:
                    out[key] = item
        for key, zero in always:
            if key not in out:
                out[key] = zero()
        return out

    return decode_struct


def _field(schema: dict[str, Any], known: WireField, struct: str) -> _Field:
    decoder = _decoder(schema, known.go_type)
    # Kubernetes stores protobuf, which cannot tell an empty list from none.
    if known.always and schema.get("type") in ("array", "object"):
        decoder = _none_when_empty(decoder)
    plain = {"string": str, "boolean": bool}.get(schema.get("type", "")) or _Never
    if schema.get("format") == "byte":
        plain = _Never
    return _Field(plain, known.pointer or known.always, decoder, struct + known.embedded)


def _none_when_empty(decoder: Decode) -> Decode:
    return lambda value, place, findings: decoder(value, place, findings) or None


def _nothing() -> None:
    return None


def _zero(schema: dict[str, Any]) -> Callable[[], Any]:
    """Makes what Go writes for a field that is always written and was not given."""
    reference = schema.get("$ref")
    if reference is None:
        if schema.get("format") == "byte":
            return _nothing
        return {"string": str, "integer": int, "boolean": bool, "number": float}.get(schema["type"], _nothing)
    if reference not in SELF_DECODING:
        decode_struct = _struct(reference)
        return lambda: decode_struct(None, None, Findings())
    return _SPECIAL_ZEROS.get(reference.rpartition(".")[2], _nothing)


def go_type(schema: dict[str, Any]) -> str:
    """The Go type a schema suggests, as reflection names it."""
    reference = schema.get("$ref")
    if reference is not None:
        return _go_name(reference)
    match schema.get("type"):
        case "array":
            return "[]" + go_type(schema["items"])
        case "object" if "additionalProperties" in schema:
            return "map[string]" + go_type(schema["additionalProperties"])
        case "string":
            return "[]uint8" if schema.get("format") == "byte" else "string"
        case "integer":
            return str(schema.get("format", "int64"))
        case "boolean":
            return "bool"
    return "float64"


def _go_name(type_name: str) -> str:
    """v1.Deployment for io.k8s.api.apps.v1.Deployment."""
    return ".".join(type_name.split(".")[-2:])


def _element(named: str) -> str:
    """The element type of a Go slice or map type; empty when a name hides it."""
    if named.startswith("[]"):
        return named[2:].lstrip("*")
    return named.partition("]")[2].lstrip("*") if named.startswith("map[") else ""


def _decoder(schema: dict[str, Any], named: str = "") -> Decode:
    reference = schema.get("$ref")
    if reference is not None:
        return SELF_DECODING[reference] if reference in SELF_DECODING else _struct(reference)
    expected = named or go_type(schema)
    match schema["type"]:
        case "array":
            return _list(schema["items"], expected)
        case "object" if "additionalProperties" in schema:
            return _map(schema["additionalProperties"], expected)
        case "object":
            return scalars.as_it_is
        case "string":
            return scalars.decode_bytes if schema.get("format") == "byte" else scalars.plain(str, expected)
        case "boolean":
            return scalars.plain(bool, expected)
        case "integer":
            return scalars.integer(expected, schema.get("format", "int64"))
    return scalars.decode_number


def _list(items: dict[str, Any], expected: str) -> Decode:
    decode_item = _decoder(items, _element(expected))
    plain = str if items.get("type") == "string" and items.get("format") != "byte" else _Never

    def decode_list(value: Any, place: Place, findings: Findings) -> list[Any]:
        if value.__class__ is not list:
            if value is not None:
                findings.mismatch(value, place, expected)
            return []
        for item in value:
            if item.__class__ is not plain:
                break
        else:
            return list(value)
        return [decode_item(item, (place, index, None), findings) for index, item in enumerate(value)]

    return decode_list


def _map(values: dict[str, Any], expected: str) -> Decode:
    decode_value = _decoder(values, _element(expected))
    plain = str if values.get("type") == "string" and values.get("format") != "byte" else _Never

    def decode_map(value: Any, place: Place, findings: Findings) -> dict[str, Any]:
        if value.__class__ is not dict:
            if isinstance(value, Repeated):
                for key in value.repeated:
                    findings.duplicate(place, key)
            elif value is None:
                return {}
            else:
                findings.mismatch(value, place, expected)
                return {}
        for item in value.values():
            if item.__class__ is not plain:
                break
        else:
            return dict(value)
        return {key: decode_value(item, (place, key, ""), findings) for key, item in value.items()}

    return decode_map


def _decode_nested(name: str, value: Any) -> dict[str, Any]:
    """A schema inside a self-decoding type: Go starts afresh, so nothing is reported by path."""
    findings = Findings()
    obj: dict[str, Any] = _struct(name)(value, None, findings)
    if findings.error:
        raise DecodeError(findings.error)
    return obj


def _decode_schema_or_array(value: Any, place: Place, findings: Findings) -> Any:
    if isinstance(value, dict):
        return _decode_nested(_EXTENSIONS + "JSONSchemaProps", value)
    if isinstance(value, list) and value:
        return [_decode_nested(_EXTENSIONS + "JSONSchemaProps", item) for item in value]
    return None


def _decode_schema_or_bool(value: Any, place: Place, findings: Findings) -> Any:
    if isinstance(value, dict):
        return _decode_nested(_EXTENSIONS + "JSONSchemaProps", value)
    if not isinstance(value, bool):
        raise DecodeError("boolean or JSON schema expected")
    return value


def _decode_schema_or_strings(value: Any, place: Place, findings: Findings) -> Any:
    if isinstance(value, dict):
        return _decode_nested(_EXTENSIONS + "JSONSchemaProps", value)
    if isinstance(value, list) and value:
        inner = Findings()
        strings = _list({"type": "string"}, "[]string")(value, None, inner)
        if inner.error:
            raise DecodeError(inner.error)
        return strings
    return None


#: Types that read their JSON themselves in Go.
SELF_DECODING: Final[dict[str, Decode]] = {
    _META + "Time": scalars.decode_time,
    _META + "MicroTime": scalars.decode_micro_time,
    _META + "FieldsV1": scalars.as_it_is,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": scalars.as_it_is,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": scalars.decode_quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": scalars.decode_int_or_string,
    _EXTENSIONS + "JSON": scalars.as_it_is,
    _EXTENSIONS + "JSONSchemaPropsOrArray": _decode_schema_or_array,
    _EXTENSIONS + "JSONSchemaPropsOrBool": _decode_schema_or_bool,
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": _decode_schema_or_strings,
}
