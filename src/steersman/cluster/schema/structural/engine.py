"""Validation rules in CEL: the engine behind `rules`, made of `steersman.cluster.cel`."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from steersman.cluster.cel import (
    NONE,
    Budget,
    BudgetExceeded,
    CompileError,
    Declaration,
    Environment,
    EvaluationError,
    Optional,
    Program,
    declare,
    optional_declaration,
)
from steersman.cluster.cel.limits import CALL_LIMIT
from steersman.cluster.schema.structural.errors import RuleCompileError, RuleEvaluationError
from steersman.cluster.schema.structural.node import Node
from steersman.cluster.schema.structural.rules import Outcome, RuleEngine

__all__ = ["rule_engine"]

#: One more than a call may cost, so that it is the call's limit that stops it.
_AMPLE: Final = CALL_LIMIT + 1


@cache
def rule_engine() -> RuleEngine:
    """The engine; one for all, it keeps nothing."""
    return _Engine()


class _Engine:
    def scope(self, node: Node, *, resource: bool) -> _Scope | None:
        declared = declare(node.raw, resource=resource)
        return None if declared is None else _Scope(declared)


class _Scope:
    def __init__(self, declared: Declaration) -> None:
        self.max_cardinality = declared.max_cardinality
        self._environments = {
            False: Environment({"self": declared, "oldSelf": declared}),
            True: Environment({"self": declared, "oldSelf": optional_declaration(declared)}),
        }

    def compile(self, expression: str, *, optional_old_self: bool) -> _Program:
        try:
            program = self._environments[optional_old_self].compile(expression)
        except CompileError as error:
            raise RuleCompileError(str(error)) from error
        return _Program(program, optional_old_self)


class _Program:
    def __init__(self, program: Program, optional_old_self: bool) -> None:
        self.uses_old_self = "oldSelf" in program.reads
        self.result_type = program.result_type.kind
        self._program = program
        self._optional = optional_old_self

    @property
    def estimated_cost(self) -> int:
        return self._program.estimate.most

    def evaluate(self, value: Any, old: Any) -> Outcome:
        if self._optional:
            old = NONE if old is None else Optional(old)
        budget = Budget(_AMPLE)
        try:
            result = self._program.evaluate({"self": value, "oldSelf": old}, budget)
        except EvaluationError as error:
            exceeded = isinstance(error, BudgetExceeded)
            raise RuleEvaluationError(
                str(error), _AMPLE - budget.remaining, cost_exceeded=exceeded
            ) from error
        return Outcome(result, _AMPLE - budget.remaining)
