"""Paths into a schema: a rule's `fieldPath`, a selectable field's `jsonPath`.

A path is made of `.name` and `['name']` steps; each must lead to a field the schema names, or through a
map. Errors are worded as Kubernetes does, they end up in the message of a 422.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from steersman.cluster.schema.structural.errors import FieldPathError
from steersman.cluster.schema.structural.node import Node

__all__ = ["FieldPath", "resolve_field_path"]

_pieces = re.compile(r"'(?:\\'|[^'])*'|[.\[\]]|[^.\[\]']+[^.\[\]]*|'.*", re.DOTALL).findall
_escape = re.compile(r"\\.", re.DOTALL)
_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\",
}  # fmt: skip
_NOWHERE: Final = "does not refer to a valid field"


class FieldPath(NamedTuple):
    #: The path as field errors show it.
    text: str
    #: Its first step.
    root: str
    node: Node


def resolve_field_path(path: str, node: Node, *, brackets: bool = True) -> FieldPath:
    """Where a path leads. Raises FieldPathError."""
    pieces: Iterator[str] = iter(_pieces(path))
    text = root = ""
    for piece in pieces:
        if piece == "[":
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _unquoted(_next(pieces))
        elif piece == ".":
            name = _next(pieces)
        else:
            raise FieldPathError(f"expected [ or . but got: {piece}")
        step, node = _step(name, node)
        text = step.removeprefix(".") if not text else text + step
        root = root or step.removeprefix(".")
        if piece == "[" and (closing := _next(pieces)) != "]":
            raise FieldPathError(f"expected ] but got {closing}")
    return FieldPath(text, root, node)


def _next(pieces: Iterator[str]) -> str:
    piece = next(pieces, None)
    if piece is None:
        raise FieldPathError("unexpected end of JSON path")
    return piece


def _unquoted(piece: str) -> str:
    if len(piece) < 2 or piece[0] != "'" or piece[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {piece}")

    def unescape(found: re.Match[str]) -> str:
        if found[0][1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {found[0]}")
        return _ESCAPES[found[0][1]]

    return _escape.sub(unescape, piece[1:-1])


def _step(name: str, node: Node) -> tuple[str, Node]:
    if node.properties:
        if name not in node.properties:
            raise FieldPathError(_NOWHERE)
        return f".{name}", node.properties[name]
    if node.additional is None:
        raise FieldPathError(_NOWHERE)
    return f"[{name}]", node.values or Node()
