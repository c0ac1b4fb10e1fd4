"""A worker thread for computations that would block the event loop.

The work must have no side effects and must not use what the loop may change meanwhile; calls that only
the loop's thread may make go through `on_loop`. Used for long CEL evaluations and for definitions of custom
resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Final, TypeVar

__all__ = ["in_worker_thread", "on_loop"]

T = TypeVar("T")

#: The loop answers within this time unless it has ended.
_ANSWER_S: Final = 30.0
#: The loop that the work came from.
_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("home", default=None)


async def in_worker_thread(work: Callable[[], T]) -> T:
    """The result of `work`, run in the thread in the order of the calls."""
    loop = asyncio.get_running_loop()

    def run() -> T:
        _home.set(loop)
        return work()

    return await loop.run_in_executor(_worker(), copy_context().run, run)


def on_loop(call: Callable[[], T]) -> T:
    """The result of a call that only the loop's thread may make."""
    loop = _home.get()
    if loop is None or _is_running(loop):
        return call()
    answer: Future[T] = Future()

    def make() -> None:
        try:
            answer.set_result(call())
        except Exception as error:  # noqa: BLE001 - it is the caller's
            answer.set_exception(error)

    loop.call_soon_threadsafe(make)
    return answer.result(_ANSWER_S)


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this is the loop's own thread: a loop may do the work of its threads at once, by itself."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


@cache
def _worker() -> ThreadPoolExecutor:
    """One thread: more would not be faster, only take more turns from the loop."""
    return ThreadPoolExecutor(1, thread_name_prefix="cel")
