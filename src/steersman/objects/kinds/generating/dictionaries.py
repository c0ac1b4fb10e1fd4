"""Writes types/: a TypedDict for each type, for objects that are dictionaries.

Mypy and editors alone see them. Making the 600 classes would take a program 15 ms at its start, so while it
runs each name is `dict`.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from textwrap import indent
from typing import Any, Final

from steersman.objects.kinds.generating.description import SCALAR_TYPES, SCALARS, TIMES, Description, Field
from steersman.objects.kinds.generating.layout import headed

__all__ = ["type_modules"]

_AT_RUN_TIME: Final = """
else:

    def __getattr__(name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return dict
"""


def type_modules(described: Description) -> Iterator[tuple[str, str]]:
    """(module, text) for each group and version."""
    packages: dict[str, list[str]] = {}
    for name in described.table:
        if name not in TIMES and name not in SCALAR_TYPES:
            packages.setdefault(_module_of(name), []).append(name)
    for module, names in sorted(packages.items()):
        writer = _TypedDicts(described, module)
        bodies = [writer.definition(name) for name in sorted(names)]
        imports = "".join(
            f"from steersman.objects.kinds.types import {each}\n" for each in sorted(writer.imported)
        )
        enums = "from steersman.objects.kinds import enums\n" if writer.uses_enums else ""
        typed = "".join(
            (
                "from typing import Any, Required, TypeAlias, TypedDict\n\n",
                f"{enums}{imports}\n",
                "\n".join(bodies),
            )
        )
        group = module.replace("_", "/")
        docstring = f"Objects of {group} as dictionaries, for mypy and editors: at run time each is `dict`."
        head = f"{headed(docstring)}from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
        yield module, head + indent(typed, "    ").rstrip() + "\n" + _AT_RUN_TIME


def _module_of(name: str) -> str:
    """io.k8s.api.core.v1.Pod → core_v1."""
    parts = name.split(".")
    return f"{parts[-3]}_{parts[-2]}" if re.fullmatch(r"v\d\w*", parts[-2]) else parts[-2]


class _TypedDicts:
    """Writes the types of one group and version, and notes which other modules they mention."""

    def __init__(self, described: Description, module: str) -> None:
        self._described = described
        self._module = module
        self.imported: set[str] = set()
        self.uses_enums = False

    def definition(self, name: str) -> str:
        bare = name.rpartition(".")[2]
        schema = self._described.table[name]
        if "properties" not in schema:
            return (
                f"{bare}: TypeAlias = Any\n"
                if schema.get("type") != "object"
                else f"{bare}: TypeAlias = dict[str, Any]\n"
            )
        fields = self._described.fields(name)
        typed = {each: self._annotation(name, one) for each, one in fields.items()}
        if all(each.isidentifier() and not keyword.iskeyword(each) for each in typed):
            body = "".join(f"    {each}: {annotation}\n" for each, annotation in typed.items())
            return f"class {bare}(TypedDict, total=False):\n{body}\n"
        body = "".join(
            f"        {json.dumps(each)}: {json.dumps(annotation)},\n" for each, annotation in typed.items()
        )
        return f"{bare} = TypedDict(\n    {json.dumps(bare)},\n    {{\n{body}    }},\n    total=False,\n)\n\n"

    def _annotation(self, owner: str, one: Field) -> str:
        if one.enum:
            self.uses_enums = True
            annotation = self._type(one.schema).replace("str", f"enums.{one.enum}")
            if "str, str" in self._type(one.schema):
                annotation = f"dict[str, enums.{one.enum}]"
        else:
            annotation = self._type(one.schema)
        if one.name == "metadata" and self._described.is_kind(owner):
            return f"Required[{annotation}]"
        return annotation

    def _type(self, schema: dict[str, Any]) -> str:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._reference(reference)
        match schema.get("type"):
            case "array":
                return f"list[{self._type(schema['items'])}]"
            case "object" if "additionalProperties" in schema:
                return f"dict[str, {self._type(schema['additionalProperties'])}]"
            case "object":
                return "dict[str, Any]"
            case None:
                return "Any"
            case kind:
                return SCALARS[kind][0]

    def _reference(self, name: str) -> str:
        if name in TIMES:
            return "str | None"
        if name in SCALAR_TYPES:
            return SCALAR_TYPES[name][0]
        module, bare = _module_of(name), name.rpartition(".")[2]
        if module == self._module:
            return bare
        self.imported.add(module)
        return f"{module}.{bare}"
