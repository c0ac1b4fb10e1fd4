"""Whether the expressions of a webhook configuration or an admission policy compile."""

from __future__ import annotations

from steersman.cluster.cel import DYN, CompileError, InstantiationError, Program, Type, compile_admission
from steersman.objects.fields import FieldError, Path, internal, invalid

__all__ = ["Expressions"]


class Expressions:
    """The expressions of one object, in the order they stand: each sees the variables before it."""

    def __init__(self, *, params: bool = False, composed: bool = False) -> None:
        """`params`: there is a kind of parameters; `composed`: there are, or can be, variables."""
        self._params = params
        self._variables: dict[str, Type] | None = {} if composed else None

    def condition(self, path: Path, expression: str) -> list[FieldError]:
        """A match condition, which comes before all variables."""
        expression = expression.strip()
        try:
            compile_admission(expression, params=self._params)
        except CompileError as error:
            return [_refused(path, expression, error)]
        return []

    def variable(self, path: Path, name: str, expression: str) -> list[FieldError]:
        """What the variable is, is known from here on; one that does not compile can be anything."""
        program, errors = self._compiled(path, expression, "any")
        if self._variables is not None:
            self._variables[name] = DYN if program is None else program.result_type
        return errors

    def check(
        self, path: Path, expression: str, returns: str = "bool", *, authorizer: bool = True
    ) -> list[FieldError]:
        """Any other expression, as it is written: places in errors count from its start."""
        return self._compiled(path, expression, returns, authorizer=authorizer)[1]

    def _compiled(
        self, path: Path, expression: str, returns: str, *, authorizer: bool = True
    ) -> tuple[Program | None, list[FieldError]]:
        try:
            program = compile_admission(
                expression,
                returns=returns,
                params=self._params,
                authorizer=authorizer,
                variables=self._variables,
            )
        except CompileError as error:
            return None, [_refused(path, expression, error)]
        return program, []


def _refused(path: Path, expression: str, error: CompileError) -> FieldError:
    if isinstance(error, InstantiationError):
        return internal(path, str(error))
    return invalid(path, expression, str(error))
