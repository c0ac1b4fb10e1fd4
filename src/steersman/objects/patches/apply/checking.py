"""Whether an applied configuration has the form of its type: names, types, identities of list items.

Nothing is defaulted or repaired: what is applied is owned exactly as it is written. The words are the
ones kube-apiserver's merge library finds; `apply` puts the object in front of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from steersman.objects.comparison import elements
from steersman.objects.errors import FieldSetError
from steersman.objects.fieldsets import show_path
from steersman.objects.patches.apply.parts import is_keyed
from steersman.objects.patches.gotext import go_syntax, go_type, go_value
from steersman.objects.schemas import Schema

__all__ = ["Problem", "problems_of", "show_problems"]


class Problem(NamedTuple):
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


_NONE: Final[tuple[Problem, ...]] = ()


def show_problems(problems: Sequence[Problem]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    return "\n".join(["errors:", *(f"  {problem}" for problem in problems)])


def problems_of(value: Any, schema: Schema) -> Sequence[Problem]:
    """What is wrong with a value, with paths relative to it. Null fits everywhere."""
    if value is None:
        return _NONE
    return _CHECKS[schema.kind](value, schema)


def _struct(value: Any, schema: Schema) -> Sequence[Problem]:
    if not isinstance(value, dict):
        return [Problem("", f"expected map, got &{{{go_value(value)}}}")]
    found: list[Problem] = []
    for name, item in value.items():
        declared = schema.property(name)
        if declared is not None:
            # By far the most common field of all.
            if type(item) is str and declared.scalar == "string":
                continue
            if wrong := problems_of(item, declared):
                found += _under(f".{name}", wrong)
        elif not schema.preserves_unknown:
            return [*found, Problem(f".{name}", "field not declared in schema")]
    return found


def _map(value: Any, schema: Schema) -> Sequence[Problem]:
    if not isinstance(value, dict):
        return [Problem("", f"expected map, got &{{{go_value(value)}}}")]
    found: list[Problem] = []
    item_schema = schema.element()
    texts = item_schema.scalar == "string"
    for name, item in value.items():
        if texts and type(item) is str:
            continue
        if wrong := problems_of(item, item_schema):
            found += _under(f".{name}", wrong)
    return found


def _list(value: Any, schema: Schema) -> Sequence[Problem]:
    if not isinstance(value, list):
        return [Problem("", f"expected list, got &{{{go_value(value)}}}")]
    found: list[Problem] = []
    item_schema = schema.element()
    keyed = is_keyed(schema)
    seen: set[str] = set()
    for index, item in enumerate(value):
        element = f"i:{index}"
        if keyed:
            try:
                element = elements((item,), schema)[0]
            except FieldSetError as error:
                return [*found, Problem("", f"element {index}: {error}")]
            if element in seen:
                found.append(Problem("", f"duplicate entries for key {show_path((element,))}"))
            seen.add(element)
        if wrong := problems_of(item, item_schema):
            found += _under(show_path((element,)), wrong)
    return found


def _under(path: str, problems: Sequence[Problem]) -> list[Problem]:
    return [Problem(path + problem.path, problem.text) for problem in problems]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _scalar(value: Any, schema: Schema) -> Sequence[Problem]:
    match schema.scalar:
        case "integer" | "number":
            if not _is_number(value):
                return [Problem("", f"expected numeric (int or float), got {go_type(value)}")]
        case "boolean":
            if not isinstance(value, bool):
                return [Problem("", f"expected boolean, got &{{{go_value(value)}}}")]
        case "int-or-string" | "quantity" | "time" | "micro-time" | "":
            if isinstance(value, (dict, list)):
                return [Problem("", f"expected any scalar, got &{{{go_value(value)}}}")]
        case "string" if schema.format:
            # Texts with a format are of no type here; what reads the object says what they may be.
            if isinstance(value, (dict, list)):
                return [Problem("", f"expected any scalar, got &{{{go_value(value)}}}")]
        case _:
            if not isinstance(value, str):
                shown = f"&value.valueUnstructured{{Value:{go_syntax(value)}}}"
                return [Problem("", f"expected string, got {shown}")]
    return _NONE


_CHECKS: Final[dict[str, Callable[[Any, Schema], Sequence[Problem]]]] = {
    "struct": _struct,
    "map": _map,
    "list": _list,
    "scalar": _scalar,
    "any": lambda value, schema: _NONE,
}
