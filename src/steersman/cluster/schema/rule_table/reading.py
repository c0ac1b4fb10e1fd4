"""Parse rules.txt into sections, blocks, lines and rules. The head of rules.txt explains the grammar.

Knows the grammar only: whether the types and fields exist is found by `emitting`, which asks `fields`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Block", "Condition", "Line", "Rule", "RuleError", "Section", "parse"]

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|,|[^\s",]+')
#: Every rule and how many words it takes: (fewest, most).
_WORDS: Final = {
    "required": (0, 0),
    "optional": (0, 0),
    "changed": (0, 0),
    "nonempty": (0, 1),
    "enum": (0, 1),
    "min": (1, 1),
    "max": (1, 1),
    "range": (2, 2),
    "positive": (0, 0),
    "format": (1, 1),
    "length": (1, 1),
    "bytes": (1, 1),
    "characters": (1, 1),
    "items": (1, 1),
    "upto": (1, 1),
    "unique": (0, 0),
    "forbidden": (0, 0),
    "invalid": (0, 0),
    "immutable": (0, 1),
}
_SUFFIXES: Final = ("when", "unless", "showing", "as", "stop", "end", "joined")


class RuleError(ValueError):
    """A line of rules.txt that cannot be understood, by its number."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"rules.txt, line {number}: {problem}")


@dataclass(frozen=True, slots=True)
class Condition:
    """`field is [not] A|B`, `field is [not] set` or `field is [not] empty`."""

    field: str
    negated: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a line."""

    word: str
    """A word of the grammar; `>` to check the value by another block; `@` to call a function."""
    arguments: tuple[str, ...] = ()
    text: str | None = None
    conditions: tuple[Condition, ...] = ()
    exceptions: tuple[Condition, ...] = ()
    each: str = ""
    """`each` for the items of a list or the values of a map, `keys` for the keys of a map."""
    stop: str = ""
    """`stop`: if broken, the rest of the line is not asked. `end`: nor is the rest of the block."""
    name: str = ""
    """Where the error is reported, if not at the field."""
    showing: str | None = None
    """`null`, a quoted text or a field: shown instead of the value. `nothing`: no value is shown."""
    joined: str = ""
    """What joins the problems of a format into one error."""


@dataclass(frozen=True, slots=True)
class Line:
    """The rules of one field. The field `.` is the object itself."""

    number: int
    field: str
    name: str
    rules: tuple[Rule, ...]


@dataclass(slots=True)
class Block:
    """What is checked of one type, in order. Of a kind, in the phases named."""

    number: int
    type: str
    phases: tuple[str, ...]
    options: tuple[str, ...] = ()
    lines: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class Section:
    """The blocks of the types of one package, and the module that holds the functions they call."""

    number: int
    package: str
    module: str
    blocks: list[Block] = field(default_factory=list)


def parse(text: str) -> list[Section]:
    """Raises RuleError."""
    sections: list[Section] = []
    for number, line in _joined_lines(text):
        if line.startswith("["):
            package, _, module = line.strip("[]").partition(" ")
            sections.append(Section(number, package, module.strip()))
        elif not sections:
            raise RuleError(number, "a section [package] must come first")
        elif not line.startswith(" "):
            sections[-1].blocks.append(_block(number, line))
        elif not sections[-1].blocks:
            raise RuleError(number, "a type must come before its fields")
        else:
            sections[-1].blocks[-1].lines.append(_line(number, line))
    return sections


def _joined_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with what continues them: a line indented by more than two spaces continues the one before."""
    pending: tuple[int, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or not line.strip():
            continue
        if line.startswith("   ") and pending is not None:
            pending = (pending[0], f"{pending[1]} {line.strip()}")
            continue
        if pending is not None:
            yield pending
        pending = (number, line.rstrip())
    if pending is not None:
        yield pending


def _block(number: int, line: str) -> Block:
    heading, _, options = line.partition(":")
    name, _, phases = heading.partition(" ")
    return Block(number, name, _listed(phases), _listed(options))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _line(number: int, line: str) -> Line:
    tokens = _TOKEN.findall(line)
    if _TOKEN.sub("", line).strip():
        raise RuleError(number, f"cannot read {line.strip()!r}: a quote is missing")
    if tokens[0].startswith("@"):
        return Line(number, ".", "", tuple(_rule(number, part) for part in _split(tokens)))
    name = ""
    rest = tokens[1:]
    if rest[:1] == ["as"]:
        name, rest = rest[1], rest[2:]
    rules = tuple(_rule(number, part) for part in _split(rest))
    if not rules:
        raise RuleError(number, f"{tokens[0]} has no rules")
    return Line(number, tokens[0], name, rules)


def _split(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word == ",":
            yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


def _rule(number: int, tokens: list[str]) -> Rule:
    each = tokens[0] if tokens[:1] in (["each"], ["keys"]) else ""
    words = tokens[1:] if each else tokens
    if not words:
        raise RuleError(number, "a rule is missing")
    word = words[0]
    if word.startswith("@"):
        arguments, rest = [word[1:]], words[1:]
        while rest and rest[0] in ("old", "context"):
            arguments.append(rest.pop(0))
        word = "@"
    elif word == ">":
        arguments, rest = words[1:2], words[2:]
        while rest and rest[0] not in _SUFFIXES:
            arguments.append(rest.pop(0))
        if not arguments:
            raise RuleError(number, "> needs the name of a type")
    elif word in _WORDS:
        fewest, most = _WORDS[word]
        rest = words[1:]
        arguments = []
        while rest and len(arguments) < most and rest[0] not in _SUFFIXES and not rest[0].startswith('"'):
            arguments.append(rest.pop(0))
        if len(arguments) < fewest:
            raise RuleError(number, f"{word} needs {fewest} word(s)")
    else:
        raise RuleError(number, f"unknown rule {word!r}")
    return _with_suffixes(number, word, tuple(arguments), rest, each)


def _with_suffixes(number: int, word: str, arguments: tuple[str, ...], words: list[str], each: str) -> Rule:
    text: str | None = None
    name, joined, stop, showing = "", "", "", None
    conditions: dict[str, tuple[Condition, ...]] = {"when": (), "unless": ()}
    while words:
        suffix = words.pop(0)
        if suffix.startswith('"') and text is None:
            text = _text(suffix)
        elif suffix in ("stop", "end"):
            stop = suffix
        elif suffix == "as" and words:
            name = words.pop(0)
        elif suffix == "showing" and words:
            showing = words.pop(0)
        elif suffix == "joined" and words:
            joined = _text(words.pop(0))
        elif suffix in ("when", "unless"):
            conditions[suffix] = tuple(_conditions(number, words))
        else:
            raise RuleError(number, f"{suffix!r} does not belong to {word!r}")
    return Rule(
        word, arguments, text, conditions["when"], conditions["unless"], each, stop, name, showing, joined
    )


def _text(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _conditions(number: int, tokens: list[str]) -> Iterator[Condition]:
    """Those at the start of `tokens`, which are taken away."""
    while True:
        if len(tokens) < 3 or tokens[1] != "is":
            raise RuleError(
                number, "a condition is `FIELD is [not] A|B`, `FIELD is [not] set` or `FIELD is [not] empty`"
            )
        name = tokens.pop(0)
        tokens.pop(0)
        negated = tokens[0] == "not"
        if negated:
            tokens.pop(0)
        if not tokens:
            raise RuleError(number, f"what {name} is or is not is missing")
        value = tokens.pop(0)
        yield Condition(name, negated, tuple(value.split("|")))
        if tokens[:1] != ["and"]:
            return
        tokens.pop(0)
