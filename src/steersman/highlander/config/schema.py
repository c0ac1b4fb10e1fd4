"""The file's JSON Schema, for editors: `# yaml-language-server: $schema=highlander.schema.json`."""

from __future__ import annotations

from typing import Any, Final

from steersman.highlander.config.models import TenantConfig

__all__ = ["json_schema"]

#: What loading takes for a text though YAML makes something else of it: `LEVEL: 3`, `cpuLimit: 1`.
_SCALAR: Final = {"type": ["string", "number", "boolean"]}
_SCALARS_IN: Final = ("ResourcesSpec",)


def json_schema() -> dict[str, Any]:
    schema = TenantConfig.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs")
    definitions["Tenant"] = schema
    top = {**schema, "properties": {**schema["properties"]}}
    top["properties"]["tenants"] = {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/$defs/Tenant"},
        "description": "Several tenants in one process; keys beside the list apply to all of them.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_as_read("", top),
        "title": "Highlander",
        "$defs": {name: _as_read(name, each) for name, each in definitions.items()},
    }


def _as_read(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """No other keys than these, and texts as loading takes them."""
    if "properties" not in schema:
        return schema
    properties = {}
    for key, value in schema["properties"].items():
        if value.get("additionalProperties") == {"type": "string"}:
            value = {**value, "additionalProperties": _SCALAR}
        elif name in _SCALARS_IN:
            value = {**value, **_SCALAR}
        properties[key] = value
    return {**schema, "properties": properties, "additionalProperties": False}
