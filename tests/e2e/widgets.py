"""A custom resource for the tests of operators and clients: widgets with status, scale, columns and rules."""

from __future__ import annotations

from typing import Any

__all__ = ["definition", "widget"]

_SPEC: dict[str, Any] = {
    "type": "object",
    "description": "What is wanted.",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 99, "description": "How large it is."},
        "color": {"type": "string", "default": "blue", "enum": ["blue", "red"]},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
            },
        },
    },
    "x-kubernetes-validations": [
        {"rule": "self.color == oldSelf.color", "message": "color is for ever"},
    ],
}


def definition(group: str) -> dict[str, Any]:
    """The CustomResourceDefinition of widgets in a group of the test's own."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
        ],
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "description": "A thing that somebody wants.",
                "properties": {
                    "spec": _SPEC,
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def widget(group: str, name: str, size: int = 1, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": size, **spec},
    }
