"""Declarations of CEL functions: overloads, implementations and runtime costs.

A library is a list of `Function`s. An implementation takes the evaluation's frame, then the arguments (the
target first), and returns a value or raises EvaluationError. `cost` is what kube-apiserver charges for the
call at run time, computed before the work is done wherever the arguments allow it; None is the default of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from steersman.cluster.cel.types import Type
from steersman.cluster.cel.values import Frame

__all__ = ["Cost", "Function", "Implementation", "Overload", "function", "member", "overload"]

Implementation: TypeAlias = Callable[..., Any]
Cost: TypeAlias = Callable[..., int]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. `params` include the target of a member function."""

    id: str
    params: tuple[Type, ...]
    result: Type
    run: Implementation
    member: bool = False
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its overloads."""

    name: str
    overloads: tuple[Overload, ...]


def overload(
    name: str, params: list[Type], result: Type, run: Implementation, cost: Cost | None = None
) -> Overload:
    """A global function's signature."""
    return Overload(name, tuple(params), result, run, False, cost)


def member(
    name: str, params: list[Type], result: Type, run: Implementation, cost: Cost | None = None
) -> Overload:
    """A member function's signature, the target first."""
    return Overload(name, tuple(params), result, run, True, cost)


def function(name: str, *overloads: Overload) -> Function:
    return Function(name, overloads)


def unframed(run: Callable[..., Any]) -> Implementation:
    """An implementation out of a function of the values alone."""

    def framed(_frame: Frame, *args: Any) -> Any:
        return run(*args)

    return framed
