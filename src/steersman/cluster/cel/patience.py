"""Evaluations that take long leave the event loop.

An evaluation within its budget may still take seconds, and nobody else is served while the loop evaluates.
So what a task evaluates on the loop has a bound, its *patience*, far below every budget. What passes it is
begun again in a thread, with the budgets it always had: results are the same, only later. Work done this way
must have no effects, since it may be done twice, and be fit for the thread (`aside`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from steersman.cluster.cel.aside import aside

__all__ = ["OutOfPatience", "Patience", "evaluated", "evaluating", "patiently"]

T = TypeVar("T")

#: In the units of budgets, of which the dearest functions take microseconds for each.
_PATIENCE: Final = 20_000


class OutOfPatience(Exception):
    """The evaluation takes longer than the loop can wait. No error of the expression: nobody absorbs it."""


class Patience:
    """What a task may still evaluate on the loop."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _PATIENCE


#: Of the task, shared by all it evaluates.
_of_task: ContextVar[Patience | None] = ContextVar("patience of the task", default=None)
#: Of the evaluation that is going on; None where it may take its time.
evaluating: ContextVar[Patience | None] = ContextVar("patience of the evaluation", default=None)


def patiently(work: Callable[[], T]) -> T | Awaitable[T]:
    """What `work` gives: at once if that is soon, else when it is done."""
    try:
        return _soon(work)
    except OutOfPatience:
        return aside(work)


async def evaluated(work: Callable[[], T]) -> T:
    """What `work` gives."""
    try:
        return _soon(work)
    except OutOfPatience:
        return await aside(work)


def _soon(work: Callable[[], T]) -> T:
    patience = _of_task.get()
    if patience is None:
        patience = Patience()
        _of_task.set(patience)
    token = evaluating.set(patience)
    try:
        return work()
    finally:
        evaluating.reset(token)
