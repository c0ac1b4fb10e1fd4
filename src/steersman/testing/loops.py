"""An event loop in a thread of its own, for what has to be awaited where nothing can be.

Plain code, as a plain test, cannot await, and what it started has to go on between its calls: so the loop is
elsewhere, and `run` waits for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from contextvars import Context
from typing import Any, TypeVar

from steersman.aio import Scope

__all__ = ["LoopThread", "close", "run_in"]

T = TypeVar("T")


def run_in(
    loop: asyncio.AbstractEventLoop,
    awaitable: Awaitable[T],
    timeout_s: float | None = None,
    context: Context | None = None,
) -> T:
    """Await something in a loop that runs in another thread; in `context`, if that is given."""
    future = asyncio.run_coroutine_threadsafe(_outcome(awaitable, context), loop)
    try:
        value = future.result(timeout_s)
    except BaseException:
        # Ctrl-C, or out of time: what runs there must not run on.
        future.cancel()
        raise
    if isinstance(value, _Ending):
        raise value.error
    return value


class _Ending:
    """What would have ended the loop, and everything else in it."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def _outcome(awaitable: Awaitable[T], context: Context | None) -> T | _Ending:
    async def there() -> T | _Ending:
        try:
            return await awaitable
        except (KeyboardInterrupt, SystemExit) as error:
            return _Ending(error)

    if context is None:
        return await there()
    # What fails there is raised by awaiting it.
    async with Scope(on_error=lambda _: None) as scope:
        return await scope.start(there(), context=context)


class LoopThread:
    """One loop, from `start` to `stop`."""

    def __init__(self, name: str) -> None:
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._over = asyncio.Event()

    def _live(self) -> None:
        async def live() -> None:
            self._started.set_result(asyncio.get_running_loop())
            await self._over.wait()

        asyncio.run(live())

    def start(self) -> None:
        self._thread.start()
        self._started.result()

    def stop(self) -> None:
        """What is still running there is cancelled, and waited for."""
        self._started.result().call_soon_threadsafe(self._over.set)
        self._thread.join()

    def run(
        self, awaitable: Awaitable[T], timeout_s: float | None = None, context: Context | None = None
    ) -> T:
        """Await something in the loop, from outside of it."""
        if threading.current_thread() is self._thread:
            close(awaitable)
            raise RuntimeError("already in the cluster's loop: await the call instead")
        return run_in(self._started.result(), awaitable, timeout_s, context)


def close(awaitable: Awaitable[Any]) -> None:
    """Nobody will await it."""
    if isinstance(awaitable, Coroutine):
        awaitable.close()
