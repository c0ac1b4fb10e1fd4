"""The wire table has the numbers and types that Kubernetes' protobuf has, and knows every served type."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from steersman.cluster.schema import wire
from steersman.cluster.schema.table import definition, table
from tests.recordings import FACTS

SPECIAL = {
    "Time",
    "MicroTime",
    "FieldsV1",
    "RawExtension",
    "Quantity",
    "IntOrString",
    "JSON",
    "JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray",
    "Patch",
}
STRUCTS = sorted(name for name in table() if name.rpartition(".")[2] not in SPECIAL)
SCALARS = {
    ("string", None): "string",
    ("string", "byte"): "bytes",
    ("boolean", None): "bool",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", "double"): "double",
}


@cache
def facts() -> dict[str, dict[str, list[Any]]]:
    found: dict[str, dict[str, list[Any]]] = json.loads((FACTS / "protobuf-fields.json").read_text())
    return found


def spelling(name: str) -> str:
    return name.lower().replace("-", "").lstrip("$")


def protobuf_type(schema: dict[str, Any]) -> str:
    """The type of a field as the facts name it, without packages."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition(".")[2])
    if schema["type"] == "array":
        return "[]" + protobuf_type(schema["items"])
    if schema["type"] == "object":
        return f"map<string,{protobuf_type(schema['additionalProperties'])}>"
    return SCALARS[schema["type"], schema.get("format")]


def unpackaged(kind: str) -> str:
    prefix = "[]" if kind.startswith("[]") else "map<string," if kind.startswith("map<") else ""
    return prefix + kind.removeprefix(prefix).rpartition(".")[2]


@pytest.mark.parametrize("name", STRUCTS, ids=lambda name: name.removeprefix("io.k8s."))
def test_fields_have_the_recorded_numbers_and_types(name: str) -> None:
    check(name, definition(name).get("properties", {}))


def check(name: str, properties: dict[str, Any]) -> None:
    recorded = facts()["k8s.io." + name.removeprefix("io.k8s.").replace("-", "_")]
    by_number = {number: (field, kind) for field, (number, kind) in recorded.items()}
    found = wire.message(name).fields
    assert [each.number for each in found] == sorted(by_number)
    for each in found:
        field, kind = by_number[each.number]
        if each.inline:
            assert unpackaged(kind) == each.inline.rpartition(".")[2]
            check(each.inline, properties)
            continue
        assert spelling(field) == spelling(each.name)
        expected = protobuf_type(properties[each.name])
        wrapper = unpackaged(kind).removeprefix("map<string,").rstrip(">")
        if wrapper in ("AttestationValue", "ExtraValue", "Verbs"):  # messages around a list
            expected = expected.replace("[]string", wrapper)
        assert unpackaged(kind) == expected


@pytest.mark.parametrize("name", STRUCTS, ids=lambda name: name.removeprefix("io.k8s."))
def test_every_property_of_the_schema_is_on_the_wire(name: str) -> None:
    properties = set(definition(name).get("properties", {}))
    on_wire = set(wire.message(name).json_fields())
    assert on_wire == properties - ({"apiVersion", "kind"} - on_wire)


def test_notation() -> None:
    fields = {each.name: each for each in wire.message("io.k8s.api.apps.v1.DeploymentSpec").fields}
    assert (fields["replicas"].pointer, fields["replicas"].always) == (True, False)
    assert (fields["selector"].pointer, fields["selector"].always) == (True, True)
    assert (fields["template"].pointer, fields["template"].always) == (False, True)
    assert (fields["paused"].pointer, fields["paused"].always) == (False, False)
    assert fields["progressDeadlineSeconds"].number == 9
    strategy = wire.message("io.k8s.api.apps.v1.DeploymentStrategy").fields[0]
    assert strategy.go_type == "v1.DeploymentStrategyType"
    volume = wire.message("io.k8s.api.core.v1.Volume")
    assert volume.fields[1].inline == "io.k8s.api.core.v1.VolumeSource"
    assert "configMap" in volume.json_fields()


def test_lists_need_no_line() -> None:
    assert [(each.name, each.always) for each in wire.message("io.k8s.api.core.v1.PodList").fields] == [
        ("metadata", True),
        ("items", True),
    ]


def test_types_that_are_no_messages_are_refused() -> None:
    with pytest.raises(KeyError):
        wire.message("io.k8s.api.core.v1.Nope")
