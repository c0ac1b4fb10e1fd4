"""One thread beside the event loop, for pure work that would hold it up.

The work must have no effects and must not touch what the loop may change meanwhile; what it has to ask the
loop goes through `on_loop`. Used for evaluations that take long, and for definitions of custom resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Final, TypeVar

__all__ = ["aside", "on_loop"]

T = TypeVar("T")

#: Longer the loop does not need for an answer unless it has ended.
_ANSWER_S: Final = 30.0
#: Where the work came from, in the thread.
_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("home", default=None)


async def aside(work: Callable[[], T]) -> T:
    """What `work` gives, done in the thread after all that waits for it already."""
    loop = asyncio.get_running_loop()

    def run() -> T:
        _home.set(loop)
        return work()

    return await loop.run_in_executor(_worker(), copy_context().run, run)


def on_loop(call: Callable[[], T]) -> T:
    """What a call gives that only the loop's thread may make."""
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
    return ThreadPoolExecutor(1, thread_name_prefix="aside")
