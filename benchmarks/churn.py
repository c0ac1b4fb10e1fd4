"""A steady mix of creates, updates and deletes, and what must be true after it."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from benchmarks.writing import Writer

__all__ = ["Churn", "Seen", "differences"]

#: What watchers must see of a write: event, name, revision. A delete's is not in its answer, hence 0.
Seen = tuple[str, str, int]

#: Writes at the same time.
_WORKERS = 8


class Churn:
    """`objects` is what is there (revision by name), always up to date with what was acknowledged."""

    def __init__(self, writer: Writer, objects: dict[str, int]) -> None:
        self._writer = writer
        self.objects = objects
        #: Names that no write is under way for.
        self._free = list(objects)
        self.acknowledged: list[Seen] = []

    @property
    def writes(self) -> int:
        return len(self.acknowledged)

    async def run(self, seconds: float, writes_per_s: float) -> None:
        numbers = iter(range(int(seconds * writes_per_s)))
        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(_WORKERS):
                group.create_task(self._work(numbers, started, seconds, writes_per_s))

    async def _work(
        self, numbers: Iterator[int], started: float, seconds: float, writes_per_s: float
    ) -> None:
        actions = (self._create, self._update, self._delete)
        for number in numbers:
            elapsed = time.perf_counter() - started
            if elapsed > seconds:
                return
            # Even when late: nothing is gained by catching up in a burst.
            await asyncio.sleep(max(number / writes_per_s - elapsed, 0))
            await actions[number % len(actions)](number)

    async def _create(self, number: int) -> None:
        name = f"churn-{number}"
        revision = await self._writer.create(name)
        self._present("ADDED", name, revision)

    async def _update(self, number: int) -> None:
        name = self._take()
        revision = await self._writer.update(name, f"value {number}")
        self._present("MODIFIED", name, revision)

    async def _delete(self, _: int) -> None:
        name = self._take()
        await self._writer.delete(name)
        del self.objects[name]
        self.acknowledged.append(("DELETED", name, 0))

    def _take(self) -> str:
        """A random name, for this write alone."""
        free = self._free
        chosen = random.randrange(len(free))
        free[chosen], free[-1] = free[-1], free[chosen]
        return free.pop()

    def _present(self, event: str, name: str, revision: int) -> None:
        self.objects[name] = revision
        self._free.append(name)
        self.acknowledged.append((event, name, revision))


def differences(acknowledged: Iterable[Seen], lines: Iterable[bytes]) -> list[str]:
    """What is wrong with a watcher's events: lost, doubled, invented, or out of order."""
    seen: Counter[Seen] = Counter()
    wrong = []
    last = 0
    for line in lines:
        event = json.loads(line)
        metadata = event["object"]["metadata"]
        revision = int(metadata["resourceVersion"])
        if revision <= last:
            wrong.append(f"{metadata['name']}: revision {revision} after {last}")
        last = revision
        seen[event["type"], metadata["name"], 0 if event["type"] == "DELETED" else revision] += 1
    expected = Counter(acknowledged)
    wrong += [f"lost: {event}" for event in expected - seen]
    wrong += [f"not expected: {event}" for event in seen - expected]
    return wrong
