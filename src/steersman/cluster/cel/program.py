"""Environments, which compile expressions, and programs, which evaluate them.

An environment declares the variables of an expression. Compiling is done when a rule or policy is written;
the program is kept and evaluated on every request. Both are immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

from steersman.cluster.cel import checker, parser
from steersman.cluster.cel.bounds import Bounds
from steersman.cluster.cel.declarations import Declaration
from steersman.cluster.cel.errors import BudgetExceeded, CompileError, EvaluationError, ResultTypeError
from steersman.cluster.cel.estimate import estimate
from steersman.cluster.cel.library import ALL, OF_PATCHES
from steersman.cluster.cel.limits import CALL_LIMIT, Budget
from steersman.cluster.cel.loop_budget import LoopBudgetExceeded, evaluating
from steersman.cluster.cel.operators import MISMATCH
from steersman.cluster.cel.planner import Planned, plan
from steersman.cluster.cel.runtime_types import TYPE_NAMES
from steersman.cluster.cel.source import Issues
from steersman.cluster.cel.syntax import Expr, Ident, Select, walk
from steersman.cluster.cel.types import Type
from steersman.cluster.cel.validators import validate_literals, validate_patterns

__all__ = ["Environment", "Program", "shown_type"]

_LONG_NAMES: Final = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


def _no_structs(_name: str) -> Type | None:
    return None


class Environment:
    """The declared variables of expressions of one kind.

    `structs` names the types that literals like `Object{…}` can construct, for mutating policies.
    """

    def __init__(
        self, variables: Mapping[str, Declaration], *, structs: Callable[[str], Type | None] = _no_structs
    ) -> None:
        self.variables = dict(variables)
        functions = ALL if structs is _no_structs else OF_PATCHES
        self._scope = checker.NameScope(
            {name: declared.type for name, declared in variables.items()}, functions, TYPE_NAMES, structs
        )

    def compile(self, expression: str, *, returns: tuple[Type, ...] = ()) -> Program:
        """A program, whose result is of one of the types given if any are.

        Raises CompileError listing all that is wrong, or ResultTypeError ("must evaluate to bool").
        """
        issues = Issues(expression)
        tree = parser.parse(expression, issues)
        issues.raise_any()
        assert tree is not None, "without a tree there are issues"
        nodes = checker.check(tree, self._scope, issues)
        issues.raise_any()
        validate_literals(nodes, issues)
        issues.raise_any()
        validate_patterns(nodes)
        if returns and tree.type not in returns:
            raise ResultTypeError(_wrong_result(returns))
        try:
            planned = plan(tree, self.variables)
        except RecursionError as error:
            raise CompileError("compilation failed: expression recursion limit exceeded") from error
        return Program(expression, tree, planned, self.variables)


def shown_type(kind: Type) -> str:
    """A type's name as cel-go has it."""
    return _LONG_NAMES.get(kind.kind, str(kind))


def _wrong_result(wanted: tuple[Type, ...]) -> str:
    names = [shown_type(kind) for kind in wanted]
    return (
        f"must evaluate to {names[0]}" if len(names) == 1 else f"must evaluate to one of [{' '.join(names)}]"
    )


class Program:
    """A compiled expression."""

    def __init__(
        self, expression: str, tree: Expr, planned: Planned, variables: Mapping[str, Declaration]
    ) -> None:
        self.expression = expression
        self.result_type: Type = tree.type
        #: The variables the expression reads; a rule that reads `oldSelf` runs on updates only.
        self.reads = frozenset(planned.inputs)
        self._tree = tree
        self._run, self._cost, self._size = planned.run, planned.cost, planned.frame_size
        self._variables = variables
        self._inputs = [(name, place, variables[name]) for name, place in planned.inputs.items()]

    @cached_property
    def estimate(self) -> Bounds:
        """The least and most an evaluation can cost, by the sizes that the declarations allow."""
        return estimate(self._tree, self._variables)

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value of the expression; values in are JSON, converted as declared.

        Raises EvaluationError, or BudgetExceeded when it costs more than a call may or the budget has;
        LoopBudgetExceeded where `patience` bounds it.
        """
        limit = CALL_LIMIT if budget is None or budget.remaining > CALL_LIMIT else budget.remaining
        patience = evaluating.get()
        hurried = patience is not None and patience.left < limit
        if patience is not None and hurried:
            limit = patience.left
        frame: list[Any] = [None] * self._size
        frame[0] = limit - self._cost
        try:
            if frame[0] < 0:
                raise BudgetExceeded
            for name, place, declared in self._inputs:
                value = bindings[name]
                frame[place] = value if declared.plain else declared.value(value)
            return self._run(frame)
        except BudgetExceeded as error:
            if hurried:
                raise LoopBudgetExceeded from None
            error.overall = limit < CALL_LIMIT
            raise
        except EvaluationError:
            raise
        except MISMATCH as error:
            missing = next((name for name in self.reads if name not in bindings), None)
            text = "no such overload" if missing is None else f"no such attribute(s): {missing}"
            raise EvaluationError(text) from error
        except RecursionError as error:
            raise EvaluationError("evaluation recursion limit exceeded") from error
        finally:
            spent = limit - max(frame[0], 0)
            if budget is not None:
                budget.remaining -= spent
            if patience is not None:
                patience.left -= spent

    def selects(self, variable: str, field: str) -> bool:
        """Whether the expression looks at a field of a variable anywhere."""
        return any(
            isinstance(node, Select)
            and node.field == field
            and isinstance(node.operand, Ident)
            and node.operand.name == variable
            for node in walk(self._tree)
        )

    def cost(self, bindings: Mapping[str, Any]) -> int:
        """What evaluating on these values costs; raises as `evaluate` does."""
        budget = Budget(CALL_LIMIT + 1)
        self.evaluate(bindings, budget)
        return CALL_LIMIT + 1 - budget.remaining
