"""The macros of CEL: `has`, `all`, `exists`, `map`, `filter` and the two-variable ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.cel.source import Issues
from steersman.cluster.cel.syntax import Call, Comprehension, Expr, Ident, Macro, OptionalMap, Select

__all__ = ["expand"]

_ACCUMULATORS: Final = {"__result__", "@result"}
_ONE_VARIABLE: Final[dict[tuple[str, int], Macro]] = {
    ("all", 2): "all",
    ("exists", 2): "exists",
    ("exists_one", 2): "exists_one",
    ("existsOne", 2): "exists_one",
    ("map", 2): "map",
    ("map", 3): "map",
    ("filter", 2): "filter",
    ("sortBy", 2): "sortBy",
}
_TWO_VARIABLES: Final[dict[tuple[str, int], Macro]] = {
    ("all", 3): "all",
    ("exists", 3): "exists",
    ("exists_one", 3): "exists_one",
    ("existsOne", 3): "exists_one",
    ("transformList", 3): "transformList",
    ("transformList", 4): "transformList",
    ("transformMap", 3): "transformMap",
    ("transformMap", 4): "transformMap",
    ("transformMapEntry", 3): "transformMapEntry",
    ("transformMapEntry", 4): "transformMapEntry",
}
_CONDITIONS: Final = {"all", "exists", "exists_one", "filter"}
_OPTIONAL: Final = {("optMap", 2), ("optFlatMap", 2)}


def expand(call: Call, issues: Issues) -> Expr | None:
    """The macro this call is, or None when it is a call."""
    if call.target is None:
        return _has(call, issues) if (call.function, len(call.args)) == ("has", 1) else None
    shape = (call.function, len(call.args))
    if shape in _ONE_VARIABLE:
        return _loop(call, call.target, _ONE_VARIABLE[shape], 1, issues)
    if shape in _TWO_VARIABLES:
        return _loop(call, call.target, _TWO_VARIABLES[shape], 2, issues)
    if shape in _OPTIONAL:
        name = _variable(
            call.args[0], f"{call.function}() variable name must be a simple identifier", issues.add
        )
        return OptionalMap(call.at, call.target, name, call.args[1], call.function == "optFlatMap")
    return None


def _has(call: Call, issues: Issues) -> Expr:
    operand = call.args[0]
    if isinstance(operand, Select) and not operand.test and not operand.optional:
        return Select(call.at, operand.operand, operand.field, test=True)
    issues.add(operand.at, "invalid argument to has() macro")
    return operand


def _loop(call: Call, target: Expr, macro: Macro, variables: int, issues: Issues) -> Expr:
    complaint = (
        "argument is not an identifier"
        if variables == 1 and macro in {"map", "filter", "sortBy"}
        else "argument must be a simple name"
    )
    names = [_variable(arg, complaint, issues.add) for arg in call.args[:variables]]
    if variables == 2 and names[0] == names[1] and names[0]:
        issues.add(call.args[1].at, f"duplicate variable name: {names[1]}")
    rest = call.args[variables:]
    second = names[1] if variables == 2 else ""
    if macro in _CONDITIONS:
        return Comprehension(call.at, macro, target, names[0], second, rest[0], None)
    predicate = rest[0] if len(rest) == 2 else None
    return Comprehension(call.at, macro, target, names[0], second, predicate, rest[-1])


def _variable(arg: Expr, complaint: str, report: Callable[[int, str], None]) -> str:
    if not isinstance(arg, Ident):
        report(arg.at, complaint)
        return ""
    if arg.name in _ACCUMULATORS:
        report(arg.at, "iteration variable overwrites accumulator variable")
    return arg.name
