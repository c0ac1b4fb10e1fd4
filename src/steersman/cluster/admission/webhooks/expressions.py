"""CEL expressions for admission, with the error messages of kube-apiserver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steersman.cluster.admission.webhooks.conditions import CompiledExpression
from steersman.cluster.admission.webhooks.errors import ExpressionError, OutOfBudget
from steersman.cluster.cel import (
    DYN,
    Budget,
    BudgetExceeded,
    CompileError,
    EvaluationError,
    Type,
    compile_admission,
)
from steersman.cluster.cel import Program as CelProgram

__all__ = ["AdmissionExpressions"]


@dataclass(frozen=True, slots=True)
class _Expression:
    program: CelProgram

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        try:
            return self.program.evaluate(bindings, budget)
        except BudgetExceeded as error:
            if error.overall:
                raise OutOfBudget from error
            raise self._failed(error) from error
        except EvaluationError as error:
            raise self._failed(error) from error

    def run(self, bindings: Mapping[str, Any], budget: Budget) -> Any:
        return self.program.evaluate(bindings, budget)

    def _failed(self, error: EvaluationError) -> ExpressionError:
        return ExpressionError(f"expression '{self.program.expression}' resulted in error: {error}")


class AdmissionExpressions:
    """The `Compiler` of admission expressions."""

    def compile(
        self,
        expression: str,
        *,
        returns: str = "bool",
        params: bool = False,
        authorizer: bool = True,
        variables: Mapping[str, CompiledExpression] | None = None,
    ) -> CompiledExpression:
        kinds = None
        if variables is not None:
            kinds = {name: _kind_of(program) for name, program in variables.items()}
        try:
            program = compile_admission(
                expression, returns=returns, params=params, authorizer=authorizer, variables=kinds
            )
        except CompileError as error:
            raise ExpressionError(str(error)) from error
        return _Expression(program)


def _kind_of(program: CompiledExpression) -> Type:
    return program.program.result_type if isinstance(program, _Expression) else DYN
