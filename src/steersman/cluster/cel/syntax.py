"""The syntax tree of a CEL expression, made by the parser and annotated by the checker.

Macros (`all`, `map`, `has`, …) are nodes of their own rather than the folds cel-go expands them to: that
keeps evaluation a plain loop. What a fold would have cost is still charged (see `library.costs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from steersman.cluster.cel.functions import Function, Overload
    from steersman.cluster.cel.types import Type

__all__ = [
    "Call",
    "Comprehension",
    "Expr",
    "Ident",
    "ListLiteral",
    "Literal_",
    "Macro",
    "MapLiteral",
    "OptionalMap",
    "Select",
    "StructLiteral",
    "walk",
]

Macro = Literal[
    "all", "exists", "exists_one", "map", "filter", "transformList", "transformMap", "transformMapEntry",
    "sortBy",
]  # fmt: skip


@dataclass(slots=True, eq=False)
class Expr:
    """A node: its position in the source, and the type found by the checker."""

    at: int
    type: Type = field(init=False, repr=False)


@dataclass(slots=True, eq=False)
class Literal_(Expr):  # noqa: N801
    value: Any


@dataclass(slots=True, eq=False)
class Ident(Expr):
    name: str


@dataclass(slots=True, eq=False)
class Select(Expr):
    """`operand.field`; `has(operand.field)` when `test`; `operand.?field` when `optional`."""

    operand: Expr
    field: str
    test: bool = False
    optional: bool = False
    #: Set by the checker when the whole chain names one variable (`authorizer.requestResource`).
    variable: str = ""


@dataclass(slots=True, eq=False)
class Call(Expr):
    """A function, member function or operator (`_+_`, `_[_]`, `_?_:_`, …)."""

    function: str
    target: Expr | None
    args: list[Expr]
    resolved: Function = field(init=False, repr=False)
    overloads: list[Overload] = field(init=False, repr=False)


@dataclass(slots=True, eq=False)
class ListLiteral(Expr):
    items: list[Expr]
    #: Indices of `?item` elements.
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapLiteral(Expr):
    """Entries are (where, key, value, is it `?key: value`)."""

    entries: list[tuple[int, Expr, Expr, bool]]


@dataclass(slots=True, eq=False)
class StructLiteral(Expr):
    name: str
    fields: list[tuple[int, str, Expr, bool]]


@dataclass(slots=True, eq=False)
class Comprehension(Expr):
    """A loop over `range`; `second` is the value variable of a two-variable macro, else empty."""

    macro: Macro
    range: Expr
    first: str
    second: str
    #: The condition of all/exists/exists_one/filter, or the filter of a map with one.
    predicate: Expr | None
    #: What each step yields: the element of a map/transformList, the key of sortBy.
    transform: Expr | None


@dataclass(slots=True, eq=False)
class OptionalMap(Expr):
    """`target.optMap(name, body)`, and `optFlatMap` when `flat`."""

    target: Expr
    name: str
    body: Expr
    flat: bool


def walk(node: Expr) -> Iterator[Expr]:
    """A node and all below it."""
    yield node
    for part in fields(node):
        yield from _below(getattr(node, part.name, None))


def _below(value: Any) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield from walk(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _below(item)
