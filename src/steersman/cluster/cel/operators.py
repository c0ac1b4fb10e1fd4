"""Operators and calls as closures: short-circuiting ones, specialized ones, and dispatch by argument types.

Made by the planner, of plans it made for the operands.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from steersman.cluster.cel.errors import BudgetExceeded, EvaluationError
from steersman.cluster.cel.functions import Overload
from steersman.cluster.cel.runtime_types import fits, type_name
from steersman.cluster.cel.syntax import Expr
from steersman.cluster.cel.types import DYN
from steersman.cluster.cel.values import Frame, Optional, charge, size_of

__all__ = ["MISMATCH", "SPECIAL", "Plan", "Run", "direct", "dispatched", "no_overload", "quick"]

Run: TypeAlias = Callable[[Frame], Any]
#: How to evaluate a node, and what that costs at least.
Plan: TypeAlias = tuple[Run, int]

#: What Python raises when a value is not of the type an operator needs.
MISMATCH: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
FAILED: Final = (EvaluationError, *MISMATCH)


def no_overload() -> EvaluationError:
    return EvaluationError("no such overload")


def as_error(error: BaseException) -> EvaluationError:
    return error if isinstance(error, EvaluationError) else no_overload()


def _absorbing(decisive: bool) -> Callable[[list[Plan]], Plan]:
    """`&&` and `||`: either side may decide, whatever the other does."""

    def make(plans: list[Plan]) -> Plan:
        (left, cost), (right, right_cost) = plans

        def run(frame: Frame) -> Any:
            failure: EvaluationError | None = None
            try:
                value = left(frame)
                if value is decisive:
                    return decisive
                if type(value) is not bool:
                    failure = no_overload()
            except BudgetExceeded:
                raise
            except FAILED as error:
                failure = as_error(error)
            frame[0] -= right_cost
            if frame[0] < 0:
                raise BudgetExceeded
            try:
                value = right(frame)
            except BudgetExceeded:
                raise
            except FAILED as error:
                raise failure or as_error(error) from error
            if value is decisive:
                return decisive
            if failure is not None:
                raise failure
            if type(value) is not bool:
                raise no_overload()
            return value

        return run, cost

    return make


def _conditional(plans: list[Plan]) -> Plan:
    (condition, cost), (then, then_cost), (otherwise, otherwise_cost) = plans

    def run(frame: Frame) -> Any:
        chosen = condition(frame)
        if chosen is True:
            frame[0] -= then_cost
            branch = then
        elif chosen is False:
            frame[0] -= otherwise_cost
            branch = otherwise
        else:
            raise no_overload()
        if frame[0] < 0:
            raise BudgetExceeded
        return branch(frame)

    return run, cost


def _optional_else(function: str) -> Callable[[list[Plan]], Plan]:
    """`or` and `orValue` evaluate their argument only when they need it."""

    def make(plans: list[Plan]) -> Plan:
        (target, cost), (other, other_cost) = plans

        def run(frame: Frame) -> Any:
            value = target(frame)
            if type(value) is not Optional:
                raise no_overload()
            if value.present:
                return value if function == "or" else value.value
            charge(frame, other_cost)
            return other(frame)

        return run, cost

    return make


SPECIAL: Final[dict[str, Callable[[list[Plan]], Plan]]] = {
    "_&&_": _absorbing(False),
    "_||_": _absorbing(True),
    "_?_:_": _conditional,
    "or": _optional_else("or"),
    "orValue": _optional_else("orValue"),
}


def direct(overload: Overload, runs: list[Run], cost: int) -> Plan:
    """A call whose overload is known."""
    implementation, price = overload.run, overload.cost
    if price is not None and len(runs) == 2:
        first, other = runs

        def priced_pair(frame: Frame) -> Any:
            one, two = first(frame), other(frame)
            frame[0] -= price(one, two)
            if frame[0] < 0:
                raise BudgetExceeded
            return implementation(frame, one, two)

        return priced_pair, cost
    if price is not None:

        def priced(frame: Frame) -> Any:
            values = [run(frame) for run in runs]
            charge(frame, price(*values))
            return implementation(frame, *values)

        return priced, cost
    if len(runs) == 1:
        only = runs[0]
        return lambda frame: implementation(frame, only(frame)), cost + 1
    if len(runs) == 2:
        left, right = runs
        return lambda frame: implementation(frame, left(frame), right(frame)), cost + 1
    return lambda frame: implementation(frame, *[run(frame) for run in runs]), cost + 1


_UNSEEN: Final = Overload("", (), DYN, lambda _frame: None)


#: Functions that are found by what their first value can do, and so know nothing of the others.
_BY_TRAIT: Final = frozenset({"startsWith", "endsWith", "contains", "matches"})


def _unmatched(function: str, values: list[Any]) -> EvaluationError:
    """What is said of values that no overload of a function takes: operators say the least."""
    if function == "_[_]" and isinstance(values[0], list):
        return EvaluationError(f"unsupported index type '{type_name(values[1])}' in list")
    if not function[0].isalpha() or function in _BY_TRAIT:
        return no_overload()
    if function == "size":
        return EvaluationError("no such overload: size")
    kinds = ", ".join(map(type_name, values))
    return EvaluationError(f"no such overload: {function}({kinds})")


def dispatched(function: str, overloads: list[Overload], runs: list[Run]) -> Run:
    """A call whose overload depends on the Python types of the values; it is looked for once for each."""
    known: dict[tuple[type, ...], Overload | None] = {}

    def run(frame: Frame) -> Any:
        values = [each(frame) for each in runs]
        kinds = tuple(map(type, values))
        overload = known.get(kinds, _UNSEEN)
        if overload is _UNSEEN:
            overload = known[kinds] = next(
                (each for each in overloads if all(map(fits, values, each.params))), None
            )
        if overload is None:
            raise _unmatched(function, values)
        frame[0] -= 1 if overload.cost is None else overload.cost(*values)
        if frame[0] < 0:
            raise BudgetExceeded
        return overload.run(frame, *values)

    return run


def _binary(apply: Callable[[Any, Any], Any]) -> Callable[[Run, Run], Run]:
    return lambda left, right: lambda frame: apply(left(frame), right(frame))


def _equal_text(left: Run, right: Run) -> Run:
    """Most strings are short: 1 is charged with the block, what is beyond it here."""

    def run(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if type(one) is not type(other):
            return False
        if (size := min(size_of(one), size_of(other))) > 10:
            charge(frame, (size - 1) // 10)
        return one == other

    return run


def _not(operand: Run) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        if type(value) is not bool:
            raise no_overload()
        return not value

    return run


def _unequal(equal: Callable[[Run, Run], Run]) -> Callable[[Run, Run], Run]:
    return lambda left, right: _not(equal(left, right))


_ORDER: Final = {
    "less": operator.lt,
    "less_equals": operator.le,
    "greater": operator.gt,
    "greater_equals": operator.ge,
}
#: Operators on values of known types, the bulk of all rules: no frame, no dispatch.
_QUICK: Final[dict[str, Callable[..., Run]]] = {
    **{
        f"{name}_{kind}": _binary(apply)
        for name, apply in _ORDER.items()
        for kind in (
            "int64", "uint64", "double", "timestamp", "duration",
            "int64_double", "double_int64", "uint64_double", "double_uint64", "int64_uint64", "uint64_int64",
        )
    },
    "logical_not": _not,
}  # fmt: skip


def _quick_equality(overload: str, args: list[Expr]) -> Callable[..., Run] | None:
    """Equality of two values of one simple type."""
    kinds = {arg.type.kind for arg in args}
    if overload not in {"equals", "not_equals"} or len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind in {"string", "bytes"}:
        return _equal_text if overload == "equals" else _unequal(_equal_text)
    if kind in {"int", "uint", "double", "timestamp", "duration"}:
        return _binary(operator.eq if overload == "equals" else operator.ne)
    return None


def quick(overload: Overload, args: list[Expr]) -> Callable[..., Run] | None:
    """The shortest way to evaluate an operator on values of known types, if there is one."""
    return _QUICK.get(overload.id) or _quick_equality(overload.id, args)
