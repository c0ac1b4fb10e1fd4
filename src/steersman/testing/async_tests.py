"""Async tests and fixtures, run: all of a session in one loop, which is also that of the session's cluster.

Test and operator can so share an `asyncio.Event`, and a fixture of any scope what it has opened. The loop has
a thread of its own, since the cluster lives on while plain tests run.

A fixture is one task from its first line to its last, so that it may hold a task group or a timeout open
while the test runs. What it sets in context variables is there in the test: function-scoped fixtures and
their test share one context, wider ones the session's.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context, copy_context
from functools import wraps
from types import MethodType
from typing import Any

from steersman.aio import Scope
from steersman.testing.loops import LoopThread

__all__ = ["AsyncTests"]


class AsyncTests:
    """Started when first needed, ended with the session."""

    def __init__(self) -> None:
        self.loop = LoopThread("async tests")
        self.loop.start()
        self._session = copy_context()
        self._test: Context | None = None

    def close(self) -> None:
        self.loop.stop()

    def next_test(self) -> None:
        """What the last one has set in its context is of no concern to the next."""
        self._test = None

    def _context(self, scope: str) -> Context:
        if scope != "function":
            return self._session
        if self._test is None:
            # As late as this, so that it has what wider fixtures have set.
            self._test = self._session.copy()
        return self._test

    def plain(self, function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        """An async test as a plain function."""

        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            return self.loop.run(function(*args, **kwargs), context=self._context("function"))

        return run

    def plain_fixture(self, function: Callable[..., Any], scope: str) -> Callable[..., Any]:
        """An async fixture as a plain one."""
        if isinstance(function, MethodType):
            return MethodType(self.plain_fixture(function.__func__, scope), function.__self__)
        if inspect.isasyncgenfunction(function):
            opening = asynccontextmanager(function)

            @wraps(function)
            def live(*args: Any, **kwargs: Any) -> Iterator[Any]:
                yield from self._held(opening(*args, **kwargs), scope)

            return live

        @wraps(function)
        def make(*args: Any, **kwargs: Any) -> Any:
            return self.loop.run(function(*args, **kwargs), context=self._context(scope))

        return make

    def _held(self, opening: AbstractAsyncContextManager[Any], scope: str) -> Iterator[Any]:
        """The value of a context manager, which one task enters and leaves."""
        context = self._context(scope)
        over = asyncio.Event()
        # What fails in the task is raised by awaiting it.
        tasks = Scope(on_error=lambda _: None)

        async def hold(made: asyncio.Future[Any]) -> None:
            async with opening as value:
                made.set_result(value)
                await over.wait()

        async def begin() -> tuple[asyncio.Task[None], Any]:
            made: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            task = tasks.start(hold(made), context=context)
            try:
                await asyncio.wait((task, made), return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                task.cancel()
                raise
            if not made.done():
                await task
            return task, made.result()

        task, value = self.loop.run(begin())
        yield value

        async def end() -> None:
            over.set()
            await task

        self.loop.run(end())
