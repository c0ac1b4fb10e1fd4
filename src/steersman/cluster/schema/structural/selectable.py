"""The fields of a custom resource that lists and watches can be filtered by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steersman.cluster.schema.structural.go_types import go_value
from steersman.cluster.schema.structural.jsonpath import JSONPath

__all__ = ["SelectableFields", "compile_selectable_fields"]

#: The values of an object's selectable fields by their labels, empty where there is none.
SelectableFields = Callable[[dict[str, Any]], dict[str, str]]


def compile_selectable_fields(version: dict[str, Any], *, namespaced: bool) -> SelectableFields:
    """Reads what one version of a definition makes selectable, and the name that always is."""
    paths = {
        each["jsonPath"].removeprefix("."): JSONPath(each["jsonPath"])
        for each in version.get("selectableFields") or ()
    }
    always = ("name", "namespace") if namespaced else ("name",)

    def read(obj: dict[str, Any]) -> dict[str, str]:
        metadata = obj.get("metadata") or {}
        fields = {f"metadata.{key}": metadata.get(key, "") for key in always}
        for label, path in paths.items():
            found = path.find(obj)
            fields[label] = go_value(found[0]) if found and found[0] is not None else ""
        return fields

    return read
