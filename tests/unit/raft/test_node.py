"""One node, alone: it elects itself, answers proposals, and stops leading when it shall not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from steersman.raft.bridge import Bridge
from steersman.raft.core import Config, NotLeader, Raft, Snapshot, founding
from steersman.raft.errors import NodeStopped, StorageError
from steersman.raft.node import RaftNode
from steersman.raft.state_machine import ClusterState, Put
from steersman.raft.storage import MemoryStorage, Write


def founded() -> MemoryStorage:
    storage = MemoryStorage()
    hard_state, meta = founding([1])
    storage.write(Write(snapshot=Snapshot(meta, b""), hard_state=hard_state))
    return storage


def alone(
    test: Callable[[RaftNode, ClusterState], Awaitable[None]],
    storage: MemoryStorage | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    async def main() -> None:
        machine = ClusterState()
        with ThreadPoolExecutor(1) as disk:
            node = RaftNode(Config(id=1), storage or founded(), machine, lambda _: None, disk, clock=clock)
            node.start()
            try:
                await test(node, machine)
            finally:
                node.stop()
                if node.failed.done():
                    node.failed.exception()

    asyncio.run(main())


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def leads(node: RaftNode) -> bool:
    return time.monotonic() < node.lease.until


def test_a_proposal_is_answered_when_it_is_applied():
    async def test(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        answers = await asyncio.gather(
            *(node.propose(machine.encode(Put(f"k{n}", b"v"))) for n in range(100))
        )
        assert answers == [True] * 100
        assert len(machine.values) == 100
        await node.read()

    alone(test)


def test_a_proposal_from_another_loop_is_answered_there():
    async def test(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        home = asyncio.get_running_loop()

        async def elsewhere() -> list[bool]:
            bridge = Bridge(node, home)
            return await asyncio.gather(
                *(bridge.propose(machine.encode(Put(f"k{n}", b"v"))) for n in range(100))
            )

        assert await asyncio.to_thread(asyncio.run, elsewhere()) == [True] * 100

    alone(test)


def test_who_does_not_contend_steps_down_and_leads_again_only_in_a_higher_term():
    async def test(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        term = node.lease.term
        node.contend(False)
        await until(lambda: not node.leads)
        assert not leads(node)
        with pytest.raises(NotLeader):
            await node.propose(machine.encode(Put("k", b"v")))
        await asyncio.sleep(0.5)
        assert not node.leads, "it does not campaign"
        node.contend(True)
        await until(lambda: leads(node))
        assert node.lease.term > term

    alone(test)


def test_a_lease_that_ran_out_is_told_when_it_is_renewed():
    slept_s = 0.0

    def clock() -> float:
        return time.monotonic() + slept_s

    async def test(node: RaftNode, machine: ClusterState) -> None:
        nonlocal slept_s
        await until(lambda: clock() < node.lease.until)
        told: list[float] = []
        node.on_change = lambda: told.append(node.lease.until)
        slept_s = 10.0
        await until(lambda: told)
        assert clock() < told[-1]

    alone(test, clock=clock)


def test_a_long_log_is_replaced_by_a_snapshot_and_a_restart_has_everything():
    storage = founded()

    async def write(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        for _ in range(22):
            await asyncio.gather(*(node.propose(machine.encode(Put(f"k{n}", b"v"))) for n in range(100)))
        await until(lambda: storage.first_index() > 1000)

    async def restart(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        await node.read()
        assert len(machine.values) == 100

    alone(write, storage)
    alone(restart, storage)


def test_a_disk_that_fails_stops_the_node():
    class FullDisk(MemoryStorage):
        full = False

        def write(self, write: Write) -> None:
            if self.full:
                raise StorageError("no space left")
            super().write(write)

    storage = FullDisk()
    hard_state, meta = founding([1])
    storage.write(Write(snapshot=Snapshot(meta, b""), hard_state=hard_state))

    async def test(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        storage.full = True
        with pytest.raises(NodeStopped):
            await node.propose(machine.encode(Put("k", b"v")))
        assert isinstance(node.failed.exception(), StorageError)
        assert not leads(node)
        with pytest.raises(NodeStopped):
            await node.propose(machine.encode(Put("k", b"v")))

    alone(test, storage)


def test_only_a_leader_steps_down():
    raft = Raft(Config(id=1), founded(), 0.0, Random(1))
    with pytest.raises(NotLeader):
        raft.step_down(0.0)
