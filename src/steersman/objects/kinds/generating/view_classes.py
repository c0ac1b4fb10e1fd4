"""Writes views/: a msgspec class for each view, and for what is nested in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from steersman.objects.kinds.generating.description import (
    SCALAR_TYPES,
    SCALARS,
    TIMES,
    Description,
    DescriptionError,
    Field,
)
from steersman.objects.kinds.generating.layout import headed
from steersman.objects.kinds.generating.view_files import Selection, ViewModule

__all__ = ["view_modules"]

#: Follows the name of an enumeration that a field need not have a value of.
_OR_EMPTY: Final = "OrEmpty"


def view_modules(modules: Iterable[ViewModule], described: Description) -> Iterator[tuple[str, str]]:
    for module in modules:
        writer = _ViewClasses(described, module)
        classes = writer.classes()
        mixins = sorted({each.partition(".")[0] for view in module.views for each in view.mixins})
        imports = [f"from steersman.objects import {each}\n" for each in mixins]
        sources: dict[str, list[str]] = {}
        for name, source in module.imported.items():
            sources.setdefault(source, []).append(name)
        imports += [
            f"from steersman.objects.kinds.views.{source} import {', '.join(sorted(names))}\n"
            for source, names in sorted(sources.items())
        ]
        yield (
            module.name,
            "".join(
                (
                    headed(f"What readers look at in objects: [{module.name}] of views.txt."),
                    "from typing import TYPE_CHECKING, Any\n\nimport msgspec\n\n",
                    "".join(imports),
                    writer.enum_imports(),
                    "\n__all__ = [" + ", ".join(json.dumps(name) for name in sorted(writer.names)) + "]\n\n",
                    "\n".join(classes),
                )
            ),
        )


class _ViewClasses:
    """Writes the classes of one section. Nested ones come before those that hold them."""

    def __init__(self, described: Description, module: ViewModule) -> None:
        self._described = described
        self._module = module
        self._classes: list[str] = []
        self._enums: set[str] = set()
        self.names: set[str] = set()

    def classes(self) -> list[str]:
        for view in self._module.views:
            self._add(view.name, view.type_name, view.selected, view.mixins, view.line, view.docstring)
        return self._classes

    def enum_imports(self) -> str:
        """For mypy, a value is one of its enumeration's. For msgspec it is any string: a newer Kubernetes may
        have more values."""
        if not self._enums:
            return ""
        lines = [
            "\nif TYPE_CHECKING:\n",
            "    from typing import Literal, TypeAlias\n\n",
            "    from steersman.objects.kinds import enums\n\n",
        ]
        for name in sorted(self._enums):
            bare = name.removesuffix(_OR_EMPTY)
            empty = ' | Literal[""]' if name != bare else ""
            lines.append(f"    {name}: TypeAlias = enums.{bare}{empty}\n")
        return "".join([*lines, "else:\n", *(f"    {name} = str\n" for name in sorted(self._enums))])

    def _add(
        self,
        name: str,
        type_name: str,
        selected: list[Selection],
        mixins: list[str],
        line: int,
        docstring: str = "",
    ) -> None:
        if name in self.names or name in self._module.imported:
            raise DescriptionError(f"views.txt:{line}: {name} exists already")
        self.names.add(name)
        fields = self._described.fields(type_name)
        body: list[str] = []
        renamed: dict[str, str] = {}
        required_first: list[str] = []
        for each in selected:
            if each.field not in fields:
                bare = type_name.rpartition(".")[2]
                raise DescriptionError(f"views.txt:{each.line}: {bare} has no field {each.field!r}")
            one = fields[each.field]
            annotation, default = self._typed(name, type_name, one, each)
            if one.python_name != one.name:
                renamed[one.python_name] = one.name
            text = f"    {one.python_name}: {annotation}" + (f" = {default}" if default else "") + "\n"
            (body if default else required_first).append(text)
        options = f", rename={json.dumps(renamed)}" if renamed else ""
        bases = ", ".join([*mixins, "msgspec.Struct"])
        short = type_name.rpartition(".")[2]
        self._classes.append(
            f"class {name}({bases}, frozen=True, gc=False, omit_defaults=True{options}):\n"
            f'    """{docstring or f"What is looked at in a {short}."}"""\n\n'
            + "".join(required_first + body)
            + "\n"
        )

    def _typed(self, owner: str, type_name: str, one: Field, selection: Selection) -> tuple[str, str]:
        """(annotation, default); no default for what has to be there."""
        if selection.mark == "raw":
            return "msgspec.Raw", "msgspec.Raw()"
        if selection.mark == "any":
            return self._untyped(one)
        inner, wrapped, default = self._container(one.schema)
        reference = inner.get("$ref", "")
        if reference in TIMES:
            annotation = "str"
            if not wrapped:
                return "str | None", "None"
        elif reference in SCALAR_TYPES:
            annotation, scalar_default = SCALAR_TYPES[reference]
            default = default or scalar_default
        elif reference:
            annotation = self._nested(owner, reference, one, selection)
            default = default or f"{annotation}()"
        elif inner.get("type") in SCALARS:
            annotation, scalar_default = SCALARS[inner["type"]]
            default = default or scalar_default
            if one.enum:
                may_be_empty = not wrapped and not one.pointer and "" not in self._described.enums[one.enum]
                annotation = one.enum + (_OR_EMPTY if may_be_empty else "")
                self._enums.add(annotation)
        else:
            raise DescriptionError(
                f"views.txt:{selection.line}: {one.name} is not a struct: write {one.name}:any "
                f"or {one.name}:raw"
            )
        if selection.selected is not None and not reference:
            raise DescriptionError(f"views.txt:{selection.line}: {one.name} has no fields")
        text = wrapped.format(annotation) if wrapped else annotation
        if one.name == "metadata" and self._described.is_kind(type_name):
            return text, ""
        if (one.pointer and not wrapped) or (one.always and wrapped) or selection.nullable:
            return f"{text} | None", "None"
        return text, default

    def _nested(self, owner: str, reference: str, one: Field, selection: Selection) -> str:
        if selection.selected is None:
            if selection.mark in self.names or selection.mark in self._module.imported:
                return selection.mark
            raise DescriptionError(
                f"views.txt:{selection.line}: say which fields of {one.name}: {one.name}(…), or :raw, or :any"
            )
        name = selection.mark or owner + one.name[0].upper() + one.name[1:]
        self._add(name, reference, selection.selected, [], selection.line)
        return name

    @staticmethod
    def _container(schema: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
        """(what is inside, how it is wrapped, the empty one)."""
        if schema.get("type") == "array":
            return schema["items"], "tuple[{}, ...]", "()"
        if schema.get("type") == "object" and "additionalProperties" in schema:
            return schema["additionalProperties"], "dict[str, {}]", "{}"
        return schema, "", ""

    @staticmethod
    def _untyped(one: Field) -> tuple[str, str]:
        if one.schema.get("type") == "array":
            return "list[Any] | None", "None"
        return (
            ("dict[str, Any] | None", "None")
            if one.schema.get("type") == "object" or "$ref" in one.schema
            else ("Any", "None")
        )
