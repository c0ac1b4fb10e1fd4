"""Evaluations that take long are done in a thread, with the same result."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from steersman.cluster.cel import (
    DYN_DECLARATION,
    Budget,
    BudgetExceeded,
    Environment,
    evaluated,
    on_loop,
    run_within_loop_budget,
)
from steersman.cluster.cel.regex import compiled

ALL = Environment({"self": DYN_DECLARATION}).compile("self.all(x, x >= 0)")
SHORT, LONG = [1] * 10, [1] * 30_000


def evaluating(values: list[int], seen: list[int], budget: Budget | None = None) -> Callable[[], Any]:
    def work() -> Any:
        seen.append(threading.get_ident())
        return ALL.evaluate({"self": values}, budget)

    return work


def test_what_is_short_stays_on_the_loop() -> None:
    async def run() -> None:
        seen: list[int] = []
        assert run_within_loop_budget(evaluating(SHORT, seen)) is True
        assert await evaluated(evaluating(SHORT, seen)) is True
        assert set(seen) == {threading.get_ident()}

    asyncio.run(run())


def test_what_is_long_is_done_again_in_a_thread() -> None:
    async def run() -> None:
        seen: list[int] = []
        assert await evaluated(evaluating(LONG, seen)) is True
        first, second = seen
        assert first == threading.get_ident() != second

    asyncio.run(run())


def test_what_a_task_evaluates_counts_together() -> None:
    async def run() -> None:
        seen: list[int] = []
        for _ in range(200):
            assert await evaluated(evaluating([1] * 100, seen)) is True
        assert len(set(seen)) == 2

    asyncio.run(run())


def test_budgets_are_those_of_the_last_evaluation() -> None:
    async def run() -> None:
        with pytest.raises(BudgetExceeded) as caught:
            await evaluated(lambda: ALL.evaluate({"self": LONG}, Budget(30_000)))
        assert caught.value.overall
        with pytest.raises(BudgetExceeded) as caught:
            await evaluated(lambda: ALL.evaluate({"self": [1] * 400_000}))
        assert not caught.value.overall

    asyncio.run(run())


def test_elsewhere_nobody_is_in_a_hurry() -> None:
    async def run() -> None:
        assert await evaluated(evaluating(LONG, [])) is True
        assert ALL.evaluate({"self": LONG}) is True

    asyncio.run(run())


def test_the_loop_can_be_asked_from_the_thread() -> None:
    async def run() -> None:
        asked: list[int] = []

        def work() -> Any:
            on_loop(lambda: asked.append(threading.get_ident()))
            return ALL.evaluate({"self": LONG})

        assert await evaluated(work) is True
        assert asked == [threading.get_ident()] * 2

        def fails() -> Any:
            if threading.current_thread() is not threading.main_thread():
                on_loop(lambda: 1 // 0)
            return ALL.evaluate({"self": LONG})

        with pytest.raises(ZeroDivisionError):
            await evaluated(fails)

    asyncio.run(run())


def test_each_thread_has_its_own_regular_expressions() -> None:
    async def run() -> None:
        assert compiled("a+") is compiled("a+")
        assert await asyncio.to_thread(compiled, "a+") is not compiled("a+")

    asyncio.run(run())
