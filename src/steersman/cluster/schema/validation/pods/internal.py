"""Objects as Kubernetes' internal Go types print themselves: Go field names, nothing left out.

Validation messages show some values, and the whole difference of a refused Pod update, in this form.
Also home of semantic equality, which needs the types too: quantities compare by value, absent equals
empty. Called only when something is wrong or has changed, so it favours clarity over speed.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from steersman.cluster.schema.validation.pods.internal_fields import FIELDS
from steersman.objects.quantities import Quantity

__all__ = ["internal_diff", "internal_form", "semantically_equal"]

#: What an absent field of each type is.
_ZERO: Final[dict[str, Any]] = {
    "s": "",
    "i": 0,
    "b": False,
    "q": "0",
    "o": 0,
    "t": None,
    "n": None,
    "{}": None,
}


@dataclass(frozen=True, slots=True)
class _Field:
    shown: str
    key: str
    type: str
    omitted_when_empty: bool = False


def internal_form(type_name: str, value: Any) -> Any:
    """`value`, a JSON value of the versioned type, as its internal twin would be marshalled."""
    return _shown(type_name, value, str)


def internal_diff(type_name: str, old: Any, new: Any) -> str:
    """The unified diff of both values printed as indented JSON, as Kubernetes appends it to messages."""
    before, after = (_indented(internal_form(type_name, value)) for value in (old, new))
    diff = list(difflib.unified_diff(before, after))
    # Without file names Kubernetes prints no header.
    return "".join(diff[2:])


def semantically_equal(type_name: str, one: Any, other: Any) -> bool:
    """Whether two values of a versioned type mean the same."""
    return bool(one == other) or _meaning(type_name, one) == _meaning(type_name, other)


def _indented(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False, separators=(",", ": "))
    for character in "&<>":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return [line + "\n" for line in text.split("\n")]


def _meaning(type_name: str, value: Any) -> Any:
    return _without_empty(_shown(type_name, value, Quantity.parse))


def _without_empty(value: Any) -> Any:
    """Without lists that are empty. Maps are not, in normal form: {} is a selector of everything, which is
    not the same as none."""
    if isinstance(value, dict):
        return {key: _without_empty(item) for key, item in value.items() if item is not None and item != []}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value


def _shown(type_name: str, value: Any, quantity: Callable[[str], Any]) -> Any:
    kind = type_name.removeprefix("*")
    if value is None:
        if kind != type_name:
            return None
        value = {} if kind[0].isupper() else _ZERO.get(kind)
    if kind == "q":
        return quantity(value)
    if kind.startswith("[]"):
        return None if value is None else [_shown(kind[2:], item, quantity) for item in value]
    if kind.startswith("{}"):
        if value is None:
            return None
        return {key: _shown(kind[2:] or "n", value[key], quantity) for key in sorted(value)}
    if not kind[0].isupper():
        return value
    form: dict[str, Any] = {}
    for field in _fields(kind):
        item = value.get(field.key)
        if field.omitted_when_empty and not item:
            continue
        if field.shown == "@":
            form.update(_shown(field.type, item, quantity))
        else:
            form[field.shown] = _shown(field.type, item, quantity)
    return form


@cache
def _table() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    fields: list[str] = []
    for line in FIELDS.splitlines():
        if line.startswith(" "):
            fields += line.split()
        else:
            fields = table[line] = []
    return table


@cache
def _fields(type_name: str) -> tuple[_Field, ...]:
    fields: list[_Field] = []
    for text in _table()[type_name]:
        name, _, kind = text.partition(":")
        if name.startswith("@"):
            if kind:
                fields.append(_Field("@", name[1:], kind))
            else:
                fields += _fields(name[1:])
        elif name.endswith("?"):
            fields.append(_Field(name[:-1], name[:-1], kind, omitted_when_empty=True))
        else:
            shown, _, key = name.partition("=")
            fields.append(_Field(shown, key or shown[0].lower() + shown[1:], kind))
    return tuple(fields)
