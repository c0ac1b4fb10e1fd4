"""The first of several: an event or a timeout, a task or its deadline, whichever coroutine ends first.

Timeouts are of the caller's clock, so that they also hold in virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

from steersman.aio.clock import Clock
from steersman.aio.scope import Scope

__all__ = ["first_of", "wait_for_event", "wait_for_tasks"]

T = TypeVar("T")


async def first_of(
    *work: Coroutine[Any, Any, Any], on_error: Callable[[BaseException], None] | None = None
) -> None:
    """Run these side by side until the first ends; the others are cancelled, and have ended on return.

    A failure is raised, or given to `on_error`.
    """
    async with Scope(on_error=on_error) as scope:
        tasks = [scope.start(each) for each in work]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def wait_for_event(event: asyncio.Event, clock: Clock, timeout_s: float | None) -> bool:
    """Wait until `event` is set, or for `timeout_s` seconds (None: for ever); whether it is set."""
    if timeout_s is None:
        await event.wait()
    else:
        await first_of(event.wait(), clock.sleep(timeout_s))
    return event.is_set()


async def wait_for_tasks(
    tasks: Collection[asyncio.Task[T]], clock: Clock, timeout_s: float
) -> list[asyncio.Task[T]]:
    """Wait until all `tasks` have ended, or for `timeout_s` seconds; those that still run, which go on."""
    if tasks:
        await first_of(asyncio.wait(tasks), clock.sleep(timeout_s))
    return [task for task in tasks if not task.done()]
