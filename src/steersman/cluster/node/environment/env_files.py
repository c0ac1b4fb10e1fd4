"""Parsing of environment files for `fileKeyRef`: a strict subset of shell syntax. Pure.

Values are in single quotes, literal, and may span lines; `#` begins a comment.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["BadEnvFile", "value_in"]


class BadEnvFile(ValueError):
    """The file cannot be parsed."""


def value_in(text: str, key: str) -> str:
    """The value of a variable; empty if there is none. Raises `BadEnvFile` for what stands before it."""
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        line = line.lstrip(" \t")
        if not line or line.startswith("#"):
            continue
        name, equals, rest = line.partition("=")
        if not equals:
            raise _bad(number, "missing '='")
        if not name.strip(" \t"):
            raise _bad(number, "empty variable name")
        if name != name.rstrip(" \t"):
            raise _bad(number, "whitespace before '=' is not allowed")
        if rest.startswith((" ", "\t")):
            # To a shell the value ends here.
            if name == key:
                return ""
            continue
        if not rest.startswith("'"):
            raise _bad(number, "value must be enclosed in single quotes")
        value = _quoted(number, rest[1:], lines)
        if name == key:
            return value
    return ""


def _quoted(number: int, rest: str, lines: Iterator[tuple[int, str]]) -> str:
    """What is in quotes, of which the first has been read."""
    value = ""
    at = number
    while "'" not in rest:
        value += rest + "\n"
        following = next(lines, None)
        if following is None:
            raise BadEnvFile(
                f"invalid environment variable format starting at line {number}: unclosed single quote"
            )
        at, rest = following
    end, _, after = rest.partition("'")
    after = after.lstrip(" \t")
    if after and not after.startswith("#"):
        raise _bad(at, "unexpected content after closing quote")
    return value + end


def _bad(number: int, what: str) -> BadEnvFile:
    return BadEnvFile(f"invalid environment variable format at line {number}: {what}")
