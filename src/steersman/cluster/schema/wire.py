"""The wire table: for each type its fields' protobuf numbers and how Go decides to write them.

Read from wire.txt (whose head explains the notation); a line is parsed when its type is first used.
`decode` and the protobuf codec compile their plans from it together with the schema table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["Message", "WireField", "message"]

_FIELD: Final = re.compile(r"(?P<name>[\w$-]+)(?P<marks>\*?!?)(?::(?P<type>[^=\s]+))?(?:=(?P<number>\d+))?")
_INLINE: Final = re.compile(r"<(?P<type>\w+)(?:=(?P<number>\d+))?")
#: A builtin type's name as Go spells it; everything else in a type is a name of the section's package.
_UNQUALIFIED: Final = re.compile(r"(?<![\w.])([A-Z]\w*)(?![\w.])")
_LIST: Final = "metadata! items!"


@dataclass(frozen=True, slots=True)
class WireField:
    """One field, or (when `inline` names a type) one sub-message whose fields JSON lifts to the parent."""

    name: str
    number: int
    pointer: bool = False
    always: bool = False
    #: Go's name of the type, empty when the schema implies it.
    go_type: str = ""
    inline: str = ""
    #: The Go names of the embedded structs on the way to the field, each after a dot.
    embedded: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A type's fields in protobuf order."""

    name: str
    fields: tuple[WireField, ...]

    def json_fields(self) -> dict[str, WireField]:
        """The fields as JSON shows them: those of inlined messages among them."""
        found: dict[str, WireField] = {}
        for field in self.fields:
            if field.inline:
                step = "." + field.inline.rpartition(".")[2]
                for name, inner in message(field.inline).json_fields().items():
                    found[name] = replace(inner, embedded=step + inner.embedded)
            else:
                found[field.name] = field
        return found


@cache
def message(name: str) -> Message:
    """The message of a type named as in OpenAPI. Raises KeyError for types that are no messages."""
    line = _lines().get(name)
    if line is None:
        if not name.endswith("List"):
            raise KeyError(name)
        line = _LIST
    return Message(name, tuple(_parse(line, name.rpartition(".")[0])))


@cache
def _lines() -> dict[str, str]:
    lines: dict[str, str] = {}
    package = ""
    for line in Path(__file__).with_name("wire.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            package = line.strip("[]") + "."
        elif line and not line.startswith("#"):
            name, _, rest = line.partition(":")
            lines[package + name] = rest
    return lines


def _parse(line: str, package: str) -> list[WireField]:
    go_package = package.rpartition(".")[2]
    fields: list[WireField] = []
    number = 0
    for word in line.split():
        match = (_INLINE if word.startswith("<") else _FIELD).fullmatch(word)
        if match is None:
            raise ValueError(f"wire.txt: cannot read the field {word!r} in {package}")
        number = int(match["number"] or number + 1)
        if word.startswith("<"):
            fields.append(WireField("", number, inline=f"{package}.{match['type']}"))
            continue
        go_type = _UNQUALIFIED.sub(rf"{go_package}.\1", match["type"]) if match["type"] else ""
        marks = match["marks"]
        fields.append(WireField(match["name"], number, "*" in marks, "!" in marks, go_type))
    return fields
