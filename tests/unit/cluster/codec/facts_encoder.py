"""An independent protobuf encoder, driven by the recorded facts alone: what Go clients send.

Shares nothing with the codec under test: messages, numbers and types come from protobuf-fields.json.
"""

from __future__ import annotations

import base64
import json
import struct
from datetime import datetime
from functools import cache
from typing import Any

from tests.recordings import FACTS

META = "k8s.io.apimachinery.pkg.apis.meta.v1."
EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."
RAW = {META + "FieldsV1", "k8s.io.apimachinery.pkg.runtime.RawExtension", EXTENSIONS + "JSON"}
#: Structs that Go embeds: JSON shows their fields as the parent's. The type is enough to tell.
INLINE = {
    "DeviceConfiguration",
    "EphemeralContainerCommon",
    "IngressRuleValue",
    "PersistentVolumeSource",
    "ProbeHandler",
    "Rule",
    "VolumeSource",
}


@cache
def messages() -> dict[str, dict[str, list[Any]]]:
    loaded: dict[str, dict[str, list[Any]]] = json.loads((FACTS / "protobuf-fields.json").read_text())
    return loaded


def message_of(type_name: str) -> str:
    """k8s.io.api.core.v1.Pod for io.k8s.api.core.v1.Pod."""
    return "k8s.io." + type_name.removeprefix("io.k8s.").replace("-", "_")


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return b"k8s\x00" + delimited(1, meta) + delimited(2, raw) + delimited(3, b"") + delimited(4, b"")


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def delimited(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def encode(message: str, value: dict[str, Any]) -> bytes:
    """A message with exactly the fields that the JSON value has."""
    special = SPECIAL.get(message)
    if special is not None:
        return special(value)
    out = b""
    package = message.rpartition(".")[0]
    by_spelling = {spelling(name): each for name, each in value.items()}
    for name, (number, kind) in messages()[message].items():
        found = by_spelling.get(spelling(name))
        if found is not None:
            out += field(number, kind, found, package)
        elif kind in INLINE or name in ("localObjectReference", "ruleWithOperations"):
            out += delimited(number, encode(qualified(kind, package), value))
    return out


def spelling(name: str) -> str:
    """What both spellings of a field's name share: aPIGroup and apiGroup, ref and $ref."""
    return name.lower().replace("-", "").lstrip("$")


def qualified(kind: str, package: str) -> str:
    return kind[1:] if kind.startswith(".") else f"{package}.{kind}"


def field(number: int, kind: str, value: Any, package: str) -> bytes:
    if kind.startswith("[]"):
        return b"".join(field(number, kind[2:], item, package) for item in value)
    if kind.startswith("map<"):
        values = kind[len("map<string,") : -1]
        entries = (
            field(1, "string", key, package) + field(2, values, item, package) for key, item in value.items()
        )
        return b"".join(delimited(number, entry) for entry in entries)
    match kind:
        case "string":
            return delimited(number, value.encode())
        case "bytes":
            return delimited(number, base64.b64decode(value))
        case "bool":
            return varint(number << 3) + varint(int(value))
        case "int32" | "int64":
            return varint(number << 3) + varint(value)
        case "double":
            return varint(number << 3 | 1) + struct.pack("<d", value)
    return delimited(number, encode(qualified(kind, package), value))


def encode_time(value: Any) -> bytes:
    moment = datetime.fromisoformat(value)
    seconds = int((moment - datetime.fromisoformat("1970-01-01T00:00:00Z")).total_seconds() // 1)
    return varint(1 << 3) + varint(seconds) + varint(2 << 3) + varint(moment.microsecond * 1000)


def encode_int_or_string(value: Any) -> bytes:
    is_text = isinstance(value, str)
    number, text = (0, value) if is_text else (value, "")
    return (
        varint(1 << 3) + varint(int(is_text)) + varint(2 << 3) + varint(number) + delimited(3, text.encode())
    )


def encode_schema_or(value: Any) -> bytes:
    schema = EXTENSIONS + "JSONSchemaProps"
    if isinstance(value, bool):
        return varint(1 << 3) + varint(int(value))
    if isinstance(value, dict):
        return delimited(1, encode(schema, value))
    return b"".join(
        delimited(2, item.encode() if isinstance(item, str) else encode(schema, item)) for item in value
    )


def encode_schema_or_bool(value: Any) -> bytes:
    if isinstance(value, bool):
        return encode_schema_or(value)
    return varint(1 << 3) + varint(1) + delimited(2, encode(EXTENSIONS + "JSONSchemaProps", value))


def encode_items(value: Any) -> bytes:
    return b"".join(delimited(1, item.encode()) for item in value)


SPECIAL: dict[str, Any] = {
    META + "Time": encode_time,
    META + "MicroTime": encode_time,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": lambda value: delimited(1, value.encode()),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": encode_int_or_string,
    **dict.fromkeys(RAW, lambda value: delimited(1, json.dumps(value).encode())),
    EXTENSIONS + "JSONSchemaPropsOrArray": encode_schema_or,
    EXTENSIONS + "JSONSchemaPropsOrBool": encode_schema_or_bool,
    EXTENSIONS + "JSONSchemaPropsOrStringArray": encode_schema_or,
    **{
        f"k8s.io.api.{group}.v1.{name}": encode_items
        for group in ("authentication", "authorization", "certificates")
        for name in ("ExtraValue", "AttestationValue")
    },
}
