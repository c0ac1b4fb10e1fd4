"""Contenders with work that goes on until it is stopped, and waiting for what they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from steersman.aio import Scope
from steersman.election import Leadership
from tests.support import waiting
from tests.support.waiting import pass_time

__all__ = ["Worker", "contending", "terms", "until"]

PATIENCE_S = 30.0


class Worker:
    def __init__(self, elector: Any) -> None:
        self.elector = elector
        self.leaderships: list[Leadership] = []
        self.working = False
        self.end = asyncio.Event()

    @property
    def terms(self) -> list[int]:
        return [leadership.term for leadership in self.leaderships]

    async def work(self, leadership: Leadership) -> None:
        self.leaderships.append(leadership)
        self.working = True
        try:
            await self.end.wait()
        finally:
            self.working = False


def terms(workers: Iterable[Worker]) -> list[int]:
    return sorted(term for worker in workers for term in worker.terms)


async def until(condition: Callable[[], object]) -> None:
    await waiting.until(condition, PATIENCE_S)


@asynccontextmanager
async def contending(*electors: Any) -> AsyncIterator[tuple[Worker, ...]]:
    """Workers that run while the block does: the first leads when the others join it. At most one leads at any
    moment."""
    workers = tuple(Worker(elector) for elector in electors)

    async def look() -> None:
        while True:
            leaders = [worker for worker in workers if worker.elector.is_leader]
            assert len(leaders) <= 1, [worker.terms for worker in leaders]
            await pass_time(0.01, "how often is looked")

    async with Scope() as scope:
        scope.start(look())
        for worker in workers:
            scope.start(worker.elector.run(worker.work))
            await until(lambda: workers[0].working)
        yield workers
