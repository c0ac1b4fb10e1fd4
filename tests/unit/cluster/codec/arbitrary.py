"""Arbitrary values of built-in types, made from the schema table with a given source of chance."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

from steersman.cluster.schema.table import definition

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
SPECIAL: dict[str, list[Any]] = {
    META + "Time": ["2024-02-29T12:34:56Z", "1969-12-31T23:59:59Z"],
    META + "MicroTime": ["2024-02-29T12:34:56.123456Z"],
    META + "FieldsV1": [{"f:data": {".": {}, "f:k": {}}}],
    "io.k8s.apimachinery.pkg.runtime.RawExtension": [{"kind": "X", "n": [1, None, "ä"]}],
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ["500m", "1Gi", "3"],
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": [0, -1, 8080, "http", "50%", ""],
    EXTENSIONS + "JSON": [{"a": 1}, "x", 5, [1.5], False],
    EXTENSIONS + "JSONSchemaPropsOrArray": [{"type": "string"}, [{"type": "object"}, {}]],
    EXTENSIONS + "JSONSchemaPropsOrBool": [True, False, {"type": "integer"}],
    EXTENSIONS + "JSONSchemaPropsOrStringArray": [["a", "b"], {"type": "string"}],
}
STRINGS = ["", "a", "name-1", "größe", "x" * 200]
INTEGERS = [0, 1, -1, 2**31 - 1, -(2**31)]


def arbitrary(name: str, chance: Random, depth: int = 0) -> Any:
    """A value of a type: each field is there or not, deeper ones more rarely."""
    if name in SPECIAL:
        return chance.choice(SPECIAL[name])
    likely = 0.7 if depth < 3 else 0.3 if depth < 7 else 0.05
    return {
        field: value_of(schema, chance, depth + 1)
        for field, schema in definition(name).get("properties", {}).items()
        if chance.random() < likely and field not in ("apiVersion", "kind")
    }


def value_of(schema: dict[str, Any], chance: Random, depth: int) -> Any:
    if "$ref" in schema:
        return arbitrary(schema["$ref"], chance, depth)
    match schema["type"]:
        case "array":
            return [value_of(schema["items"], chance, depth) for _ in range(chance.randrange(3))]
        case "object":
            values = schema["additionalProperties"]
            return {f"k{number}": value_of(values, chance, depth) for number in range(chance.randrange(3))}
        case "boolean":
            return chance.random() < 0.5
        case "integer":
            wide = [2**63 - 1, -(2**63)] if schema.get("format") == "int64" else []
            return chance.choice(INTEGERS + wide)
        case "number":
            return chance.choice([0.5, -1e9])
    text = chance.choice(STRINGS)
    return base64.b64encode(text.encode()).decode() if schema.get("format") == "byte" else text
