"""Constant folding: literals and conversions of literals.

kube-apiserver folds these and charges nothing for them, so it is part of the cost model too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.cel.errors import BudgetExceeded, EvaluationError, InstantiationError
from steersman.cluster.cel.operators import Plan, Run
from steersman.cluster.cel.runtime_types import fits
from steersman.cluster.cel.syntax import Call, Expr, Ident, ListLiteral, Literal_, MapLiteral, Select
from steersman.cluster.cel.values import Frame, Uint

__all__ = ["FOLDED", "constant", "inner", "is_attribute", "membership"]


def is_attribute(node: Expr) -> bool:
    """A variable and what is reached from it: kube-apiserver charges these by step."""
    if isinstance(node, Call):
        return node.function == "_[_]" and is_attribute(node.args[0])
    return isinstance(node, Ident) or (isinstance(node, Select) and not node.test)


def inner(node: Expr) -> int:
    """An attribute that is part of another one (a branch, an index) has its first step for free."""
    return 1 if is_attribute(node) and node.type.kind != "type" else 0


def constant(node: Expr) -> Plan | None:
    """A literal of literals is made once, and costs nothing."""
    try:
        value = _literal_value(node)
    except _NotConstant:
        return None
    return lambda _frame: value, 0


class _NotConstant(Exception):
    """A part of an expression is not constant."""


def _literal_value(node: Expr) -> Any:
    match node:
        case Literal_(value=value):
            return value
        case Call(function=function, args=[argument]) if function in FOLDED:
            return _converted(node, _literal_value(argument))
        case ListLiteral(items=items, optional=optional) if not optional:
            return [_literal_value(item) for item in items]
        case MapLiteral(entries=entries) if not any(optional for *_, optional in entries):
            made = {_literal_value(key): _literal_value(value) for _, key, value, _ in entries}
            if len(made) == len(entries):
                return made
    raise _NotConstant


#: Conversions of literals happen once.
FOLDED: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"}
)
_FOLDING_BUDGET: Final = 10_000


def _converted(node: Call, argument: Any) -> Any:
    for overload in node.overloads:
        if fits(argument, overload.params[0]):
            try:
                return overload.run([_FOLDING_BUDGET], argument)
            except BudgetExceeded:
                break
            except EvaluationError as error:
                raise InstantiationError(error) from error
    raise _NotConstant


def membership(items: Expr) -> Callable[[Run, int], Plan] | None:
    """`x in ['a', 'b']`: looking up in a set of literals, which costs nothing."""
    if not isinstance(items, ListLiteral) or not items.items:
        return None
    try:
        values = _literal_value(items)
    except _NotConstant:
        return None
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        return None
    kind, known = kinds.pop(), frozenset(values)

    def make(run: Run, cost: int) -> Plan:
        def test(frame: Frame) -> Any:
            value = run(frame)
            return (type(value) is kind or (kind is int and type(value) in {float, Uint})) and value in known

        return test, cost

    return make
