"""Validation of literals at compile time: timestamps, regular expressions, format strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from steersman.cluster.cel import regex
from steersman.cluster.cel.errors import EvaluationError, InstantiationError
from steersman.cluster.cel.source import Issues
from steersman.cluster.cel.syntax import Call, Expr, ListLiteral, Literal_
from steersman.cluster.cel.times import SECOND, make_timestamp, parse_duration, parse_timestamp

__all__ = ["validate_literals", "validate_patterns"]

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.\d+)?(.)?)", re.DOTALL)
_CLAUSE_TYPES: Final = {
    "d": ("decimal", "integers", {"int", "uint"}),
    "f": ("fixed-point", "doubles", {"double"}),
    "e": ("scientific", "doubles", {"double"}),
    "b": ("binary", "integers and bools", {"int", "uint", "bool"}),
    "o": ("octal", "integers", {"int", "uint"}),
    "x": ("hex", "integers, byte buffers, and strings", {"int", "uint", "bytes", "string"}),
    "X": ("hex", "integers, byte buffers, and strings", {"int", "uint", "bytes", "string"}),
}


def validate_literals(nodes: Iterable[Expr], issues: Issues) -> None:
    for node in nodes:
        if not isinstance(node, Call):
            continue
        if node.function == "format" and node.target is not None:
            _format(node, node.target, issues)
        check = _READERS.get(node.function)
        if check is None:
            continue
        read, wants = check
        literal = node.args[-1] if len(node.args) == wants or node.target is not None else None
        if not isinstance(literal, Literal_):
            continue
        try:
            if isinstance(literal.value, str):
                read(literal.value)
            elif type(literal.value) is int and node.function == "timestamp":
                make_timestamp(literal.value * SECOND)
        except (ValueError, EvaluationError):
            issues.add(literal.at, f"invalid {node.function} argument")


def validate_patterns(nodes: Iterable[Expr]) -> None:
    """Literal patterns of `find` and `findAll` are compiled with the program. Raises
    InstantiationError."""
    for node in nodes:
        if isinstance(node, Call) and node.function in {"find", "findAll"} and node.args:
            pattern = node.args[0]
            if isinstance(pattern, Literal_) and isinstance(pattern.value, str):
                try:
                    regex.compiled(pattern.value)
                except EvaluationError as error:
                    raise InstantiationError(error) from error


_READERS: Final[dict[str, tuple[Callable[[str], object], int]]] = {
    "duration": (parse_duration, 1),
    "timestamp": (parse_timestamp, 1),
    "matches": (regex.compiled, 2),
}


def _format(node: Call, target: Expr, issues: Issues) -> None:
    values = node.args[0] if node.args else None
    if (
        not isinstance(target, Literal_)
        or not isinstance(values, ListLiteral)
        or not isinstance(target.value, str)
    ):
        return
    used = 0
    for clause in _CLAUSE.finditer(target.value):
        if clause.group() == "%%":
            continue
        if used >= len(values.items):
            issues.add(node.at, f"index {used} out of range")
            return
        value = values.items[used]
        used += 1
        letter = clause[1] or ""
        if letter == "s":
            continue
        if letter not in _CLAUSE_TYPES:
            issues.add(
                node.at, f'could not parse formatting clause: unrecognized formatting clause "{letter}"'
            )
            return
        name, allowed, kinds = _CLAUSE_TYPES[letter]
        if value.type.kind not in kinds | {"dyn", "any"}:
            issues.add(
                value.at,
                f"error during formatting: {name} clause can only be used on {allowed}, "
                f"was given {value.type}",
            )
            return
    if len(values.items) > used:
        issues.add(
            node.at,
            f"too many arguments supplied to string.format (expected {used}, got {len(values.items)})",
        )
