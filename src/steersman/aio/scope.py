"""Task scopes: every task has an owner that outlives it.

`Scope.start` is the only place where Steersman creates tasks; only `asyncio.gather` makes its own, for what
one expression awaits. Leaving a scope cancels its children and waits for them, so nothing runs on after the
code that started it is gone.

Two policies for a child that fails:

| scope                     | the failure                                | the siblings |
|---------------------------|--------------------------------------------|--------------|
| `Scope()`                 | is raised where the scope is left          | cancelled    |
| `Scope(on_error=report)`  | is given to `report`, the scope lives on   | untouched    |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from types import TracebackType
from typing import Any, Self, TypeVar

__all__ = ["Scope"]

T = TypeVar("T")


class Scope:
    """A set of tasks that ends as a whole."""

    __slots__ = ("_closed", "_errors", "_host", "_interrupted", "_on_error", "_tasks")

    def __init__(self, *, on_error: Callable[[BaseException], None] | None = None) -> None:
        self._on_error = on_error
        self._tasks: set[asyncio.Task[Any]] = set()
        self._errors: list[BaseException] = []
        self._closed = False
        # The task inside `async with`, cancelled when a child fails so that the body stops waiting.
        self._host: asyncio.Task[Any] | None = None
        self._interrupted = False

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def closed(self) -> bool:
        return self._closed

    def start(
        self, coroutine: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """Run `coroutine` as a child task, in a copy of the current context unless `context` is given.

        After the scope was closed this is an error.
        """
        if self._closed:
            coroutine.close()
            raise RuntimeError("the scope is closed")
        task = asyncio.get_running_loop().create_task(coroutine, name=name, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        """Ask every child to stop; `close` or leaving the scope waits for them."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Cancel the children, wait until they are gone, then raise what failed among them."""
        self._closed = True
        await self._reap()
        self._raise_errors()

    async def join(self) -> None:
        """Wait for the children to end by themselves (or for the first failure)."""
        while self._tasks and not self._errors:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def __aenter__(self) -> Self:
        self._host = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        host, self._host = self._host, None
        self._closed = True
        await self._reap()
        if self._interrupted and host is not None:
            # The cancellation was this scope's own doing unless someone else cancelled as well.
            if host.uncancel() > 0:
                return
            if not isinstance(error, asyncio.CancelledError) and error is not None:
                self._errors.append(error)
            self._raise_errors(error)
        if error is None:
            self._raise_errors()

    async def _reap(self) -> None:
        """Wait for all children, cancelling again those that were started or shielded meanwhile."""
        me = asyncio.current_task()
        cancelled: asyncio.CancelledError | None = None
        while children := [task for task in self._tasks if task is not me]:
            for task in children:
                task.cancel()
            try:
                await asyncio.wait(children)
            except asyncio.CancelledError as error:
                # Even a cancelled owner leaves no child behind; it is cancelled once they are gone.
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        if self._on_error is not None:
            self._on_error(error)
            return
        self._errors.append(error)
        self.cancel()
        if self._host is not None and not self._interrupted and not self._closed:
            self._interrupted = True
            self._host.cancel()

    def _raise_errors(self, cause: BaseException | None = None) -> None:
        errors, self._errors = self._errors, []
        if len(errors) == 1:
            raise errors[0] from cause if cause is not errors[0] else errors[0].__cause__
        if errors:
            raise BaseExceptionGroup("several tasks of a scope failed", errors)
