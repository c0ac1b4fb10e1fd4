"""Shared by the tests of CEL: one environment, one line to evaluate in it."""

from __future__ import annotations

from typing import Any

from steersman.cluster.cel import DYN_DECLARATION, Environment, Program, declare

__all__ = ["compiled", "evaluate", "with_schema"]

_DYNAMIC = Environment({"x": DYN_DECLARATION, "y": DYN_DECLARATION})


def compiled(expression: str) -> Program:
    return _DYNAMIC.compile(expression)


def evaluate(expression: str, **values: Any) -> Any:
    """The value of an expression over the dynamic variables `x` and `y`."""
    return compiled(expression).evaluate(values)


def with_schema(schema: dict[str, Any], *, resource: bool = False) -> Environment:
    """An environment with `self` and `oldSelf` of a schema."""
    declared = declare(schema, resource=resource)
    assert declared is not None
    return Environment({"self": declared, "oldSelf": declared})
