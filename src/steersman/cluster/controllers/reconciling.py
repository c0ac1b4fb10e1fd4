"""Helpers of the workload controllers' reconciles: the current time, and the handling of write conflicts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from steersman.aio import Clock
from steersman.client import Conflict, NotFound
from steersman.runtime import Request, Requeue, Result

__all__ = ["moment", "retrying_conflicts"]

Reconcile = Callable[[Request], Awaitable[Result | None]]


def moment(clock: Clock) -> datetime:
    """Now, as objects tell time."""
    return datetime.fromtimestamp(clock.wall(), UTC)


def retrying_conflicts(reconcile: Reconcile) -> Reconcile:
    """Somebody else was faster, by a change or a deletion: no failure worth a log line, the watch will show
    what they did."""

    async def quietly(request: Request) -> Result | None:
        try:
            return await reconcile(request)
        except (Conflict, NotFound):
            raise Requeue from None

    return quietly
