"""The types as OpenAPI shows them, version 2 or 3: the schema table with its prose and real references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

__all__ = ["Definitions", "Enums", "Prose", "closure", "present"]

Definitions = Mapping[str, dict[str, Any]]
Prose = Mapping[str, tuple[str, dict[str, str]]]
#: Type name → field → the values it can have.
Enums = Mapping[str, Mapping[str, list[str]]]

PREFIX: Final = {2: "#/definitions/", 3: "#/components/schemas/"}
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
#: Scalars that take two JSON types, which version 2 cannot say.
_SCALARS: Final[dict[tuple[str, int], dict[str, Any]]] = {
    (_INT_OR_STRING, 2): {"type": "string", "format": "int-or-string"},
    (_INT_OR_STRING, 3): {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
    (_QUANTITY, 2): {"type": "string"},
    (_QUANTITY, 3): {"oneOf": [{"type": "string"}, {"type": "number"}]},
}


def closure(definitions: Definitions, roots: Iterable[str]) -> list[str]:
    """The roots and every type they refer to, sorted."""
    found: set[str] = set()
    todo = [name for name in roots if name in definitions]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(each for each in _references(definitions[name]) if each in definitions)
    return sorted(found)


def _references(node: dict[str, Any]) -> Iterator[str]:
    if isinstance(reference := node.get("$ref"), str):
        yield reference
    for child in node.get("properties", {}).values():
        yield from _references(child)
    for key in ("items", "additionalProperties"):
        if isinstance(child := node.get(key), dict):
            yield from _references(child)


def present(
    name: str, node: dict[str, Any], prose: Prose, version: int, enums: Enums | None = None
) -> dict[str, Any]:
    """One definition, complete."""
    description, fields = prose.get(name, ("", {}))
    scalar = _SCALARS.get((name, version))
    shown = dict(scalar) if scalar else _shown(node, version)
    for field, values in (enums or {}).get(name, {}).items():
        _valued(shown["properties"][field])["enum"] = values
    for field, text in fields.items():
        if field in shown.get("properties", {}):
            shown["properties"][field] = {"description": text, **shown["properties"][field]}
    return {"description": description, **shown} if description else shown


def _valued(field: dict[str, Any]) -> dict[str, Any]:
    """What of a field is a string: itself, or its items or values."""
    below: dict[str, Any] | None = field.get("items") or field.get("additionalProperties")
    return field if below is None else below


def _shown(node: dict[str, Any], version: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, value in node.items():
        if key == "$ref" and isinstance(value, str):
            shown[key] = PREFIX[version] + value
        elif key == "properties":
            shown[key] = {
                field: _described(_shown(child, version), version) for field, child in value.items()
            }
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            shown[key] = _shown(value, version)
        else:
            shown[key] = value
    return shown


def _described(field: dict[str, Any], version: int) -> dict[str, Any]:
    """Version 3 allows nothing beside a $ref, so a field's goes where a description can stand beside it."""
    if version == 2 or "$ref" not in field:
        return field
    rest = {key: value for key, value in field.items() if key != "$ref"}
    return {"allOf": [{"$ref": field["$ref"]}], **rest}
