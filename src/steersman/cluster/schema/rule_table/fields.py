"""What rules need to know of the published types: of which type a field is, and whether it can be unset.

Asks the schema table for the types and `wire` for what OpenAPI does not tell: which fields are pointers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from steersman.cluster.schema.wire import message

__all__ = ["Field", "FieldNotFound", "Nature", "Types"]

_META: Final = "io.k8s.apimachinery.pkg."


class FieldNotFound(LookupError):
    """A type or field that the published types do not have."""


class Nature(Enum):
    """What a value is, as far as rules differ."""

    TEXT = "text"
    NUMBER = "number"
    FLAG = "flag"
    QUANTITY = "quantity"
    NUMBER_OR_TEXT = "number or text"
    OPAQUE = "opaque"
    STRUCT = "struct"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a type."""

    nature: Nature
    pointer: bool
    """Unset, it is null: rules that look at its value are not asked."""
    type: str = ""
    """Of a struct its type; of a list or map that of its items or values, if they are structs."""
    items: Nature = Nature.OPAQUE


_SCALARS: Final = {
    "string": Nature.TEXT,
    "integer": Nature.NUMBER,
    "number": Nature.NUMBER,
    "boolean": Nature.FLAG,
}
_NAMED: Final = {
    f"{_META}api.resource.Quantity": Nature.QUANTITY,
    f"{_META}util.intstr.IntOrString": Nature.NUMBER_OR_TEXT,
    f"{_META}apis.meta.v1.Time": Nature.OPAQUE,
    f"{_META}apis.meta.v1.MicroTime": Nature.OPAQUE,
    f"{_META}runtime.RawExtension": Nature.OPAQUE,
}


class Types:
    """The published types by their full names."""

    def __init__(self, table: dict[str, dict[str, Any]]) -> None:
        self._table = table

    def full_name(self, name: str) -> str:
        """io.k8s.api.core.v1.Container for core.v1.Container. Raises FieldNotFound."""
        for prefix in (
            "io.k8s.api.",
            "io.k8s.apiextensions-apiserver.pkg.apis.",
            "io.k8s.kube-aggregator.pkg.apis.",
            _META + "apis.",
        ):
            if prefix + name in self._table:
                return prefix + name
        raise FieldNotFound(f"there is no type {name}")

    def kind(self, full_name: str) -> tuple[str, str] | None:
        """The group and kind of a type that is a kind."""
        for gvk in self._table[full_name].get("x-kubernetes-group-version-kind", ()):
            return gvk["group"], gvk["kind"]
        return None

    def is_required(self, full_name: str, name: str) -> bool:
        return name in self._table[full_name].get("required", ())

    def field(self, full_name: str, name: str) -> Field:
        """Raises FieldNotFound."""
        node = self._table[full_name].get("properties", {}).get(name)
        if node is None:
            raise FieldNotFound(f"{full_name} has no field {name}")
        nature, inner = self._nature(node)
        wire = message(full_name).json_fields().get(name)
        pointer = wire is not None and wire.pointer
        if nature in (Nature.LIST, Nature.MAP):
            items, inner = self._nature(node["items" if nature is Nature.LIST else "additionalProperties"])
            return Field(nature, pointer, inner, items)
        return Field(nature, pointer or nature is Nature.OPAQUE, inner)

    def _nature(self, node: dict[str, Any]) -> tuple[Nature, str]:
        reference = node.get("$ref")
        if reference is not None:
            nature = _NAMED.get(reference)
            if nature is None:
                nature = Nature.STRUCT if "properties" in self._table[reference] else Nature.OPAQUE
            return nature, reference if nature is Nature.STRUCT else ""
        if node.get("type") == "array":
            return Nature.LIST, ""
        if node.get("type") == "object":
            return (Nature.MAP, "") if "additionalProperties" in node else (Nature.OPAQUE, "")
        return _SCALARS.get(node.get("type", ""), Nature.OPAQUE), ""
