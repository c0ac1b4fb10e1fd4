"""The loop of the engines that ask for their lock again and again: locks in stores, and Raft.

    contend ── won ──► work runs, `keep` beside it ── work has ended ──► `stop` ──► contend again, or return

The work's own end ends the loop. Lost leadership cancels the work, and there is a next round. When the loop
is cancelled the work is cancelled first, and leadership is kept until it has cleaned up. Leading by a Lease
has a loop of its own, which a pure core drives (`lease.engine`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from steersman.aio import Scope
from steersman.election.elector import Leadership, Work

__all__ = ["contend", "late_work"]

Task = asyncio.Task[None]


async def contend(
    name: str,
    scope: Scope,
    work: Work,
    *,
    win: Callable[[], Awaitable[Leadership]],
    keep: Callable[[int, Task], Sequence[Coroutine[Any, Any, None]]],
    stop: Callable[[Sequence[Task]], Awaitable[bool]],
) -> None:
    """Contend until `work` has come to its own end; raises what it raises.

    `win` returns when this process leads. `keep` is given the term and the task of the work: what it
    returns runs beside the work, and cancels it when leadership is lost. `stop` is given those tasks when
    the work has ended, gives leadership up, and returns whether it was still had until then.
    """
    while True:
        leadership = await win()
        worker = scope.start(_done(work, leadership), name=f"leader {name}")
        keepers = [scope.start(each, name=f"election {name}") for each in keep(leadership.term, worker)]
        cancelled = await _end_of(worker)
        led = await stop(keepers)
        if cancelled is not None:
            raise cancelled
        if not worker.cancelled():
            worker.result()
            return
        if led:
            raise RuntimeError("the leader's work cancelled itself")


def late_work(lost_at: float | None, now: float, grace_s: float) -> str:
    """What is wrong if leadership was lost at `lost_at` and the work goes on; empty for `grace_s` seconds."""
    if lost_at is None or now - lost_at < grace_s:
        return ""
    return f"work goes on though leadership was lost {now - lost_at:.0f} s ago"


async def _end_of(worker: Task) -> asyncio.CancelledError | None:
    """Wait for the end of the work; when this is cancelled, once, the work is cancelled instead."""
    cancelled: asyncio.CancelledError | None = None
    while not worker.done():
        try:
            await asyncio.wait((worker,))
        except asyncio.CancelledError as error:
            if cancelled is not None:
                raise
            cancelled = error
            worker.cancel()
    return cancelled


async def _done(work: Work, leadership: Leadership) -> None:
    await work(leadership)
