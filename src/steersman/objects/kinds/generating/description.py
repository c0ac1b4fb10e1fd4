"""Reads the description of Kubernetes' types: the schema table, wire.txt and enums.txt."""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = [
    "SCALARS",
    "SCALAR_TYPES",
    "TIMES",
    "Description",
    "DescriptionError",
    "Field",
    "Sources",
    "snake",
]

_PREFIXES: Final = (
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
)
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
TIMES: Final = frozenset({_META + "Time", _META + "MicroTime"})
#: Types that are scalars in JSON: their Python type and zero value.
SCALAR_TYPES: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("str", '""'),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("int | str", "0"),
}
SCALARS: Final = {
    "string": ("str", '""'),
    "integer": ("int", "0"),
    "boolean": ("bool", "False"),
    "number": ("float", "0.0"),
}


class DescriptionError(ValueError):
    """Something in one of the text files that does not fit Kubernetes' types."""


@dataclass(frozen=True)
class Sources:
    """The description: the schema table, wire.txt, enums.txt and views.txt."""

    table: Path
    wire: Path
    enums: Path
    views: Path


@dataclass(frozen=True)
class Field:
    """A field of a type, as far as Python has to know it."""

    name: str
    schema: dict[str, Any]
    pointer: bool
    #: Written even when empty: a list or map is null then.
    always: bool
    #: The name of its enumeration; empty when it can have any value.
    enum: str

    @property
    def python_name(self) -> str:
        return snake(self.name)


def snake(name: str) -> str:
    """podIPs → pod_ips, clusterIP → cluster_ip, from → from_."""
    text = re.sub(r"(IP|CIDR|ID|URL|API)s(?![a-z])", lambda match: match[1].capitalize() + "s", name)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    text = re.sub(r"\W", "_", text).lower()
    return text + "_" if keyword.iskeyword(text) else text


class Description:
    """The types by name, and what the text files add to the published schemas."""

    def __init__(
        self,
        table: dict[str, dict[str, Any]],
        wire: dict[str, dict[str, tuple[str, str]]],
        enums: dict[str, tuple[str, ...]],
    ) -> None:
        self.table = table
        #: Type → field → (marks, Go type).
        self._wire = wire
        #: "type.field" → values.
        self._enum_values = enums
        self.enums = self._named_enums()

    @classmethod
    def read(cls, sources: Sources) -> Description:
        table: dict[str, dict[str, Any]] = json.loads(sources.table.read_bytes())
        wire = _read_wire(sources.wire.read_text("utf-8"))
        return cls(table, wire, _read_enums(sources.enums.read_text("utf-8"), table))

    def full_name(self, short: str) -> str:
        """core.v1.Pod → io.k8s.api.core.v1.Pod. Raises KeyError."""
        for prefix in _PREFIXES:
            if prefix + short in self.table:
                return prefix + short
        raise KeyError(short)

    def is_kind(self, name: str) -> bool:
        return "x-kubernetes-group-version-kind" in self.table[name]

    def fields(self, name: str) -> dict[str, Field]:
        """A type's fields in the order of their names, as the published schema has them."""
        wire = self._wire_fields(name)
        return {
            each: self._field(name, each, schema, *wire.get(each, ("", "")))
            for each, schema in self.table[name].get("properties", {}).items()
        }

    def _field(self, type_name: str, name: str, schema: dict[str, Any], marks: str, go_type: str) -> Field:
        enum = self._enum_name(type_name, name, go_type) if f"{type_name}.{name}" in self._enum_values else ""
        return Field(name, schema, "*" in marks, "!" in marks, enum)

    def _wire_fields(self, name: str) -> dict[str, tuple[str, str]]:
        """Those of inlined types among them."""
        found: dict[str, tuple[str, str]] = {}
        for each, (marks, go_type) in self._wire.get(name, {}).items():
            if marks == "<":
                found.update(self._wire_fields(f"{name.rpartition('.')[0]}.{each}"))
            else:
                found[each] = (marks, go_type)
        return found

    def _enum_name(self, type_name: str, name: str, go_type: str) -> str:
        bare = re.sub(r"^(\[\]|map\[\w+\])", "", go_type).rpartition(".")[2]
        owner = type_name.rpartition(".")[2]
        return bare if bare and bare[0].isupper() else owner + name[0].upper() + name[1:]

    def _named_enums(self) -> dict[str, tuple[str, ...]]:
        """Enumeration → values. Two of one name with other values get their type's name before it."""
        found: dict[str, tuple[str, ...]] = {}
        for place, values in self._enum_values.items():
            type_name, _, name = place.rpartition(".")
            go_type = self._wire_fields(type_name).get(name, ("", ""))[1]
            enum = self._enum_name(type_name, name, go_type)
            if found.setdefault(enum, values) != values:
                found[enum] = tuple(sorted({*found[enum], *values}))
        return dict(sorted(found.items()))


def _read_wire(text: str) -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    package = ""
    for line in text.splitlines():
        if line.startswith("["):
            package = line.strip("[]") + "."
        elif line and not line.startswith("#"):
            name, _, rest = line.partition(":")
            fields: dict[str, tuple[str, str]] = {}
            for word in rest.split():
                word = re.sub(r"=\d+$", "", word)
                if word.startswith("<"):
                    fields[word[1:]] = ("<", "")
                    continue
                each, _, go_type = word.partition(":")
                bare = each.rstrip("*!")
                fields[bare] = (each[len(bare) :], go_type)
            found[package + name] = fields
    return found


def _read_enums(text: str, table: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    values: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            values = tuple(line.split("|"))
            continue
        short, _, name = line.strip().rpartition(".")
        full = next((prefix + short for prefix in _PREFIXES if prefix + short in table), None)
        if full is None or name not in table[full].get("properties", {}):
            raise DescriptionError(f"enums.txt:{number}: Kubernetes has no field {line.strip()}")
        found[f"{full}.{name}"] = values
    return found
