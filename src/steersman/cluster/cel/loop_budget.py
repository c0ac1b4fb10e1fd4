"""Limits how long CEL evaluations may block the event loop.

An evaluation within its cost budget may still take seconds, during which the loop serves no other request.
So each task may evaluate only so much on the loop (`LoopBudget`), far below every cost budget. An evaluation
that exceeds it is started again in a thread, with its full cost budget: the result is the same, only later.
Work run this way must have no effects, since it may run twice, and must be safe in the thread
(`in_worker_thread`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from steersman.cluster.cel.worker_thread import in_worker_thread

__all__ = ["LoopBudget", "LoopBudgetExceeded", "evaluated", "evaluating", "run_within_loop_budget"]

T = TypeVar("T")

#: In CEL cost units; the most expensive functions take microseconds for each.
_LOOP_BUDGET: Final = 20_000


class LoopBudgetExceeded(Exception):
    """An evaluation is too long for the loop. Not an error of the expression, so no operator absorbs it."""


class LoopBudget:
    """What a task may still evaluate on the loop."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _LOOP_BUDGET


#: Of the task, shared by all its evaluations.
_of_task: ContextVar[LoopBudget | None] = ContextVar("loop budget of the task", default=None)
#: Of the current evaluation; None where there is no limit.
evaluating: ContextVar[LoopBudget | None] = ContextVar("loop budget of the evaluation", default=None)


def run_within_loop_budget(work: Callable[[], T]) -> T | Awaitable[T]:
    """The result of `work`: at once if it fits the loop budget, else an awaitable."""
    try:
        return _on_loop(work)
    except LoopBudgetExceeded:
        return in_worker_thread(work)


async def evaluated(work: Callable[[], T]) -> T:
    """The result of `work`, from the loop or the thread."""
    try:
        return _on_loop(work)
    except LoopBudgetExceeded:
        return await in_worker_thread(work)


def _on_loop(work: Callable[[], T]) -> T:
    budget = _of_task.get()
    if budget is None:
        budget = LoopBudget()
        _of_task.set(budget)
    token = evaluating.set(budget)
    try:
        return work()
    finally:
        evaluating.reset(token)
