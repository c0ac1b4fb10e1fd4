"""Regular expressions as Go reads them, matched in linear time.

Schemas are written for Go's regexp package. `translate` refuses what Go refuses with Go's words, and writes
the same expression for the engine of `jsonschema_rs`, which has no backtracking either: no pattern and no
text can keep the server busy. `matches` is one pattern against one text.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from jsonschema_rs import Draft202012Validator, RegexOptions

from steersman.cluster.cel.regex_syntax import (
    Alternate,
    Assert,
    Chars,
    Concat,
    Node,
    Repeat,
    SyntaxProblem,
    parse,
)
from steersman.cluster.schema.structural.errors import PatternError

__all__ = ["OPTIONS", "matches", "translate"]

#: How patterns are compiled wherever `jsonschema_rs` is used: without backtracking.
OPTIONS: Final = RegexOptions()

_PLACES: Final = {
    "start": "\\A",
    "end": "\\z",
    "line-start": "(?m:^)",
    "line-end": "(?m:$)",
    "boundary": "(?-u:\\b)",
    "inside": "(?-u:\\B)",
}


def matches(pattern: str, text: str) -> bool:
    """Whether Go would find the pattern in the text. Raises PatternError."""
    return _matcher(pattern).is_valid(text)


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Draft202012Validator:
    try:
        return Draft202012Validator({"pattern": translate(pattern)}, pattern_options=OPTIONS)
    except ValueError as error:
        if isinstance(error, PatternError):
            raise
        raise PatternError("error parsing regexp: expression too large") from None


@lru_cache(maxsize=1024)
def translate(pattern: str) -> str:
    """The pattern for the engine here. Raises PatternError with what Go's compiler says."""
    try:
        return _written(parse(pattern))
    except SyntaxProblem as problem:
        raise PatternError(str(problem)) from None


def _written(node: Node) -> str:
    match node:
        case Chars():
            return _class(node)
        case Assert(place):
            return _PLACES[place]
        case Concat(parts):
            return "".join(map(_written, parts))
        case Alternate(choices):
            return f"(?:{'|'.join(map(_written, choices))})"
        case Repeat(part, low, high, greedy):
            bounds = f"{{{low},{'' if high is None else high}}}"
            return f"(?:{_written(part)}){bounds}{'' if greedy else '?'}"


def _class(chars: Chars) -> str:
    members = _members(replace(chars, negated=False)) + "".join(map(_members, chars.sets))
    if not members:
        return "(?s:.)" if chars.negated else "[^\\x{0}-\\x{10FFFF}]"
    written = f"[{'^' if chars.negated else ''}{members}]"
    return f"(?i:{written})" if chars.folded else written


def _members(chars: Chars) -> str:
    """As the inside of a class: this engine takes no class in a class, so all others are spelled out."""
    ranges = [(ord(low), ord(high)) for low, high in chars.ranges]
    if chars.negated and ranges:
        ends = [-1, *(end for bounds in sorted(ranges) for end in bounds), 0x110000]
        gaps = zip(ends[::2], ends[1::2], strict=True)
        ranges = [(low + 1, high - 1) for low, high in gaps if high - low > 1]
    written = [_literal(low) if low == high else f"{_literal(low)}-{_literal(high)}" for low, high in ranges]
    written += (f"\\{'P' if chars.negated else 'p'}{{{name}}}" for name in chars.groups)
    return "".join(written)


def _literal(code: int) -> str:
    """One character, safe in a class."""
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code:X}}}"
