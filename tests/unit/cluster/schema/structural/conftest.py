"""A definition like many, and schemas made short."""

from __future__ import annotations

from typing import Any

import pytest

Object = dict[str, Any]


@pytest.fixture
def schema() -> Object:
    return {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["image"],
                "properties": {
                    "image": {"type": "string", "pattern": "^.+:.+$", "maxLength": 50},
                    "replicas": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
                    "tier": {"type": "string", "enum": ["web", "db"], "default": "web"},
                    "port": {"x-kubernetes-int-or-string": True},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "list": {
                        "type": "array",
                        "maxItems": 3,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "v": {"type": "integer", "default": 7},
                            },
                        },
                    },
                },
            },
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
