"""Clients that are no members, and real processes with mutual TLS whose leader is killed or hangs: what was
acknowledged is there, what is not known is said to be, and what they saw could have happened in some order."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steersman.raft.client import RaftClient
from steersman.raft.errors import OutcomeUnknown, PeerUnavailable
from tests.e2e.raft.processes import Cluster, until
from tests.sim.raft.linearizability import Operation, linearizable
from tests.support import waiting
from tests.support.waiting import pass_time

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KEYS = ("a", "b")
#: Of one key. The search for an order takes longer than linear time.
MOST = 120
TIMEOUT_S = 5.0


class Load:
    """Writers and readers of a few registers, and of one that is counted up over its last version."""

    def __init__(self, client: RaftClient, name: str) -> None:
        self._client = client
        self._values = itertools.count(1)
        self.counter = f"{name}/counter"
        self.history: dict[str, list[Operation]] = {f"{name}/{key}": [] for key in KEYS}
        #: Steps of the counter that were acknowledged, and those of which nothing is known.
        self.counted = self.perhaps_counted = 0
        self.done = 0
        self.longest_s = 0.0
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def timed(self, asking: Awaitable[Any]) -> Any:
        started = time.monotonic()
        try:
            return await asking
        finally:
            self.longest_s = max(self.longest_s, time.monotonic() - started)
            self.done += 1

    def _turns(self) -> Iterator[None]:
        while not self._stopped:
            yield

    async def write(self, key: str) -> None:
        history = self.history[key]
        for _ in self._turns():
            value, called = next(self._values), time.monotonic()
            if len(history) < MOST:
                try:
                    await self.timed(self._client.put(key, b"%d" % value))
                    history.append(Operation(called, time.monotonic(), value, write=True))
                except OutcomeUnknown:
                    history.append(Operation(called, math.inf, value, write=True))
                except PeerUnavailable:
                    pass  # it was not written: whoever reads it proves the client wrong
            await pass_time(0.02, "the pace of the load")

    async def read(self, key: str) -> None:
        history = self.history[key]
        for _ in self._turns():
            called = time.monotonic()
            if len(history) < MOST:
                try:
                    found = await self.timed(self._client.get(key))
                    value = int(found.data) if found is not None else 0
                    history.append(Operation(called, time.monotonic(), value, write=False))
                except PeerUnavailable:
                    pass
            await pass_time(0.03, "the pace of the load")

    async def count(self) -> None:
        for _ in self._turns():
            try:
                found = await self.timed(self._client.get(self.counter))
                number, version = (int(found.data), found.version) if found is not None else (0, 0)
                if await self.timed(self._client.put(self.counter, b"%d" % (number + 1), over=version)):
                    self.counted += 1
            except OutcomeUnknown:
                self.perhaps_counted += 1
            except PeerUnavailable:
                pass
            await pass_time(0.01, "the pace of the load")


def under_load(cluster: Cluster, disturb: Callable[[Load], Awaitable[None]]) -> Load:
    async def main() -> Load:
        async with RaftClient(cluster.addresses, tls=cluster.tls_folder(0), timeout_s=TIMEOUT_S) as client:
            load = Load(client, disturb.__name__)
            async with asyncio.TaskGroup() as tasks:
                for key in load.history:
                    for task in (load.write(key), load.write(key), load.read(key)):
                        tasks.create_task(task)
                for _ in range(2):
                    tasks.create_task(load.count())
                try:
                    await disturb(load)
                finally:
                    load.stop()
            found = await client.get(load.counter)
            assert found is not None
            print(f"counted {load.counted}, perhaps {load.perhaps_counted} more: {found.data.decode()}")
            assert load.counted <= int(found.data) <= load.counted + load.perhaps_counted
            return load

    load = asyncio.run(main())
    for key, operations in load.history.items():
        unknown = sum(operation.returned == math.inf for operation in operations)
        print(f"{key}: {len(operations)} operations, {unknown} with unknown outcome")
        assert linearizable(operations), f"no order explains what was seen of {key}"
    return load


async def more(load: Load, count: int = 40) -> None:
    """Until so many more were done; though the counter goes on, the others have an end."""
    target = load.done + count
    await waiting.until(lambda: load.done >= target, 60)


def leader_of(cluster: Cluster) -> int:
    leading: list[int] = until(
        lambda: [node for node, member in cluster.members.items() if member.ask("status").get("leads")]
    )
    return leading[0]


def test_leaders_are_killed_and_hang_under_a_clients_load(tmp_path: Path) -> None:
    with Cluster(tmp_path, 3, writers=0) as cluster:

        async def kill(load: Load) -> None:
            await more(load)
            node = await asyncio.to_thread(leader_of, cluster)
            await asyncio.to_thread(cluster.members[node].kill)
            await more(load)
            cluster.start(node)
            await asyncio.to_thread(until, lambda: cluster.members[node].up)
            await more(load)

        async def hang(load: Load) -> None:
            await more(load)
            node = await asyncio.to_thread(leader_of, cluster)
            member = cluster.members[node]
            member.pause()
            try:
                await more(load)
            finally:
                member.wake()
            await more(load)

        under_load(cluster, kill)
        load = under_load(cluster, hang)
        print(f"the longest took {load.longest_s:.2f} s")
        # As long as a busy machine takes to look at its timers.
        assert load.longest_s < TIMEOUT_S + 5.0
