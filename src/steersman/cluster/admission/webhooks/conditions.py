"""Compiled CEL expressions of webhooks and policies, and their match conditions.

`Compiler` is the interface: `expressions` implements it with CEL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from steersman.cluster.admission.webhooks.errors import ExpressionError, OutOfBudget
from steersman.cluster.cel import Budget
from steersman.cluster.cel.limits import MATCH_CONDITIONS_BUDGET

__all__ = ["CompiledExpression", "Compiler", "MatchConditions", "compiled", "join_errors"]


class CompiledExpression(Protocol):
    """A compiled expression."""

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        """The value. Raises ExpressionError, whose message names the expression; OutOfBudget."""

    def run(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        """The value; errors are CEL's own. For expressions that are part of others."""


class Compiler(Protocol):
    """Compiles expressions."""

    def compile(
        self,
        expression: str,
        *,
        returns: str = "bool",
        params: bool = False,
        authorizer: bool = True,
        variables: Mapping[str, CompiledExpression] | None = None,
    ) -> CompiledExpression:
        """A program over object, oldObject, request and namespaceObject, perhaps params, authorizer and
        `variables` (by name, as they were compiled).

        `returns` is the type its value must have: "bool", "string", "string or null", "any", "JSONPatch" (a
        list of operations) or "Object" (an apply configuration). Raises ExpressionError.
        """


@dataclass(frozen=True, slots=True)
class _Broken:
    """An expression that does not compile: every evaluation fails."""

    why: str

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        raise ExpressionError(f"compilation error: {self.why}")

    def run(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        raise ExpressionError(self.why)


def compiled(
    compiler: Compiler,
    expression: str,
    *,
    returns: str = "bool",
    params: bool = False,
    authorizer: bool = True,
    variables: Mapping[str, CompiledExpression] | None = None,
) -> CompiledExpression:
    """As `Compiler.compile`, with errors left for whoever evaluates it."""
    try:
        return compiler.compile(
            expression, returns=returns, params=params, authorizer=authorizer, variables=variables
        )
    except ExpressionError as error:
        return _Broken(str(error))


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """Conditions that must all be true. A false one takes precedence over failing ones."""

    programs: tuple[CompiledExpression, ...]
    ignore_failures: bool

    @classmethod
    def compile(
        cls,
        compiler: Compiler,
        conditions: Sequence[Mapping[str, str]],
        *,
        ignore_failures: bool,
        params: bool = False,
        variables: Mapping[str, CompiledExpression] | None = None,
    ) -> MatchConditions:
        programs = [
            compiled(compiler, condition["expression"], params=params, variables=variables)
            for condition in conditions
        ]
        return cls(tuple(programs), ignore_failures)

    def hold(self, bindings: Callable[[Budget], Mapping[str, Any]]) -> bool:
        """Raises ExpressionError when that cannot be said and failures count."""
        if not self.programs:
            return True
        budget = Budget(MATCH_CONDITIONS_BUDGET)
        values = bindings(budget)
        errors = []
        for program in self.programs:
            try:
                if program.evaluate(values, budget) is False:
                    return False
            except OutOfBudget as error:
                errors = [str(error)]
                break
            except ExpressionError as error:
                errors.append(str(error))
        if not errors:
            return True
        if self.ignore_failures:
            return False
        raise ExpressionError(join_errors(errors))


def join_errors(errors: Sequence[str]) -> str:
    """Several errors as one, in the way Kubernetes joins them."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
