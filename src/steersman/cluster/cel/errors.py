"""What can go wrong with a CEL expression.

CelError
├── CompileError      the expression's author is at fault: syntax, types
│   ├── ResultTypeError  … or what it evaluates to
│   └── InstantiationError  it compiles, but no program can be made of it (a literal that cannot be converted)
└── EvaluationError   this expression does not work on these values ("no such key: foo")
    └── BudgetExceeded   it would have cost more than it may; never absorbed by `||` and `&&`
"""

from __future__ import annotations

__all__ = [
    "BudgetExceeded",
    "CelError",
    "CompileError",
    "EvaluationError",
    "InstantiationError",
    "ResultTypeError",
]


class CelError(Exception):
    """Any failure of a CEL expression; `str()` is the text kube-apiserver shows."""


class CompileError(CelError):
    """The expression cannot be accepted. The text lists every issue with its place in the source."""


class EvaluationError(CelError):
    """Evaluating failed on the values given."""


class BudgetExceeded(EvaluationError):
    """The evaluation was stopped because its cost passed the limit.

    `overall`: it was the budget shared with other expressions that ran out, not the one of each.
    """

    def __init__(self, message: str = "operation cancelled: actual cost limit exceeded") -> None:
        super().__init__(message)
        self.overall = False


class ResultTypeError(CompileError):
    """The expression is sound but does not yield what it must, e.g. not a bool."""


class InstantiationError(CompileError):
    """The expression is sound, but a constant part of it has no value. Given that part's problem."""

    def __init__(self, problem: object) -> None:
        super().__init__(f"program instantiation failed: {problem}")
