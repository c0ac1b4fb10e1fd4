"""Why Go cannot put a decoded JSON value into a built-in type without going through JSON again.

Kubernetes does that with the result of a strategic merge patch and has other words for what does not fit
than for a body. `apiserver.pipeline.bodies` asks when `decode` refused such a result; nothing here changes a
value.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.schema import go_messages
from steersman.cluster.schema.decode import SELF_DECODING, go_type
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.findings import Findings
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.scalars import decode_bytes
from steersman.cluster.schema.table import definition, type_name
from steersman.cluster.schema.wire import message

__all__ = ["conversion_error"]

_KINDS: Final = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}


def conversion_error(gvk: GVK, value: dict[str, Any]) -> str:
    """What is wrong with an object of a built-in kind; empty when nothing is."""
    name = type_name(gvk)
    assert name is not None
    return _struct(name, value)


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "map")


def _struct(name: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_kind(value)}"
    wire = message(name).json_fields()
    for key, schema in definition(name).get("properties", {}).items():
        if value.get(key) is not None:
            known = wire.get(key)
            if error := _value(schema, known.go_type if known else "", value[key]):
                return error
    return ""


def _value(schema: dict[str, Any], named: str, value: Any) -> str:
    reference = schema.get("$ref")
    if reference is not None:
        return _self_decoding(reference, value) if reference in SELF_DECODING else _struct(reference, value)
    match schema["type"]:
        case "array":
            return _items(schema["items"], value)
        case "object" if "additionalProperties" in schema:
            return _entries(schema["additionalProperties"], value)
        case "object":
            return ""
        case "string" if schema.get("format") == "byte":
            return _bytes(value)
    return _scalar(schema, named or go_type(schema), value)


def _items(schema: dict[str, Any], value: Any) -> str:
    if not isinstance(value, list):
        return f"cannot restore slice from {_kind(value)}"
    return next((error for item in value if item is not None and (error := _value(schema, "", item))), "")


def _entries(schema: dict[str, Any], value: Any) -> str:
    if not isinstance(value, dict):
        return f"cannot restore map from {_kind(value)}"
    given = (item for item in value.values() if item is not None)
    return next((error for item in given if (error := _value(schema, "", item))), "")


def _bytes(value: Any) -> str:
    if not isinstance(value, str):
        return f"cannot restore slice from {_kind(value)}"
    findings = Findings()
    decode_bytes(value, None, findings)
    return f"error decoding from json: {go_messages.base64_error(value)}" if findings.error else ""


def _self_decoding(name: str, value: Any) -> str:
    try:
        SELF_DECODING[name](value, None, Findings())
    except DecodeError as error:
        return str(error)
    return ""


def _scalar(schema: dict[str, Any], named: str, value: Any) -> str:
    found = _kind(value)
    match schema["type"], found:
        case (
            ("string", "string")
            | ("boolean", "bool")
            | ("integer" | "number", "int64")
            | ("number", "float64")
        ):
            return ""
        case "integer", "float64":
            return "" if value.is_integer() else f"cannot convert float64 to {named}"
        case "string", "int64":
            return f"cannot convert int64 to {named}"
    basic = {"string": "string", "boolean": "bool", "integer": schema.get("format", "int64")}
    return f"unrecognized type: {basic.get(schema['type'], 'float64')}"
