"""The errors of CEL expressions.

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
    """Evaluating the expression failed on these values."""


class BudgetExceeded(EvaluationError):
    """The evaluation was stopped because its cost exceeded the limit.

    `overall`: the budget shared with other expressions was exceeded, not the one of each.
    """

    def __init__(self, message: str = "operation cancelled: actual cost limit exceeded") -> None:
        super().__init__(message)
        self.overall = False


class ResultTypeError(CompileError):
    """The expression has the wrong result type, e.g. not a bool."""


class InstantiationError(CompileError):
    """The expression type-checks, but a constant part of it cannot be evaluated; the message is that part's
    error.
    """

    def __init__(self, problem: object) -> None:
        super().__init__(f"program instantiation failed: {problem}")
