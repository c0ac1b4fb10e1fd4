"""The file's JSON Schema, for editors: `# yaml-language-server: $schema=highlander.schema.json`."""

from __future__ import annotations

from typing import Any

from steersman.highlander.config.models import TenantConfig

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    schema = TenantConfig.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs")
    definitions["Tenant"] = _closed(schema)
    top = {**schema, "properties": {**schema["properties"]}}
    top["properties"]["tenants"] = {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/$defs/Tenant"},
        "description": "Several tenants in one process; what stands beside the list is common to all.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_closed(top),
        "title": "Highlander",
        "$defs": {name: _closed(each) for name, each in definitions.items()},
    }


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """No other keys than these."""
    return {**schema, "additionalProperties": False} if "properties" in schema else schema
