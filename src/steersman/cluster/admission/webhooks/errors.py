"""The errors of webhooks and policies, before the failure policy is applied.

    CallFailed            a webhook gave no usable answer; its failure policy decides
    ExpressionError       an expression cannot be compiled, or gave no value; the failure policy decides
    └── OutOfBudget       … because it and those before it cost too much; no further ones are evaluated

A refusal is no error of this kind: it is a StatusError from the start.
"""

from __future__ import annotations

from steersman.objects.fields import quote

__all__ = ["CallFailed", "ExpressionError", "OutOfBudget"]


class CallFailed(Exception):
    """No usable answer from a webhook. `code` is its label in metrics."""

    def __init__(self, webhook: str, why: str, code: int = 503) -> None:
        super().__init__(f"failed calling webhook {quote(webhook)}: {why}")
        self.code = code


class ExpressionError(Exception):
    """An expression that failed to compile or to evaluate; the message is for the client."""


class OutOfBudget(ExpressionError):
    """The cost budget of a group of expressions is exceeded."""

    def __init__(self) -> None:
        super().__init__(
            "validation failed due to running out of cost budget, no further validation rules will be run"
        )
