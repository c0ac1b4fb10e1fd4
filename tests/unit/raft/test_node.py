"""One node, alone: it elects itself, answers proposals, and stops leading when it shall not."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TypeVar

import pytest

from steersman.raft.bridge import Bridge
from steersman.raft.core import (
    AppendRequest,
    Config,
    Entry,
    EntryKind,
    Message,
    NotLeader,
    Raft,
    Snapshot,
    VoteRequest,
    VoteResponse,
    founding,
)
from steersman.raft.errors import NodeStopped, StorageError
from steersman.raft.node import RaftNode
from steersman.raft.state_machine import ClusterState, Put
from steersman.raft.storage import MemoryStorage, Write
from tests.support.waiting import pass_time, pass_time_blocking, until

S = TypeVar("S", bound=MemoryStorage)


def found(storage: S, voters: Sequence[int] = (1,)) -> S:
    hard_state, meta = founding(voters)
    storage.write(Write(snapshot=Snapshot(meta, b""), hard_state=hard_state))
    return storage


def founded() -> MemoryStorage:
    return found(MemoryStorage())


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
        await pass_time(0.5, "several election timeouts, in which it does not campaign")
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

    storage = found(FullDisk())

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


class TimedDisk(MemoryStorage):
    """Takes its time to sync, and notes what was written, and where."""

    takes_s = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []
        self.writes: list[Write] = []

    def write(self, write: Write) -> None:
        self.threads.append(threading.get_ident())
        self.writes.append(write)
        pass_time_blocking(self.takes_s, "a slow disk")
        super().write(write)


def test_a_slow_disk_does_not_hold_up_the_loop_and_one_that_is_quick_again_needs_no_thread():
    storage = found(TimedDisk())

    async def test(node: RaftNode, machine: ClusterState) -> None:
        here = threading.get_ident()

        async def until_written(there: bool) -> None:
            async with asyncio.timeout(10):
                while (storage.threads[-1] != here) != there:
                    await node.propose(machine.encode(Put("k", b"v")))

        await until(lambda: leads(node))
        await until_written(there=False)
        storage.takes_s = 0.005
        await until_written(there=True)
        storage.takes_s = 0.0
        await until_written(there=False)

    alone(test, storage)


def test_one_write_that_hangs_is_enough():
    storage = found(TimedDisk())

    async def test(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        storage.takes_s = 0.1
        await node.propose(machine.encode(Put("k", b"v")))
        await node.propose(machine.encode(Put("k", b"v")))
        assert storage.threads[-1] != threading.get_ident()

    alone(test, storage)


def test_what_is_committed_is_stored_with_the_next_write():
    storage = found(TimedDisk())

    async def test(node: RaftNode, machine: ClusterState) -> None:
        await until(lambda: leads(node))
        await node.propose(machine.encode(Put("first", b"v")))
        storage.writes.clear()
        for number in range(3):
            await node.propose(machine.encode(Put(f"k{number}", b"v")))
        assert [len(write.entries) for write in storage.writes] == [1, 1, 1]
        for write in storage.writes:
            assert write.hard_state is not None
            assert write.hard_state.commit == write.entries[0].index - 1

    alone(test, storage)


def among_three(test: Callable[[RaftNode, list[str]], Awaitable[None]]) -> None:
    """Member 1 of three, with a list of what it does: `sends KIND`, `writes`, `applies`. `leaves KIND` is
    when those that `send` has woken have had their turn."""
    did: list[str] = []

    class Disk(MemoryStorage):
        def write(self, write: Write) -> None:
            did.append("writes")
            super().write(write)

    class Machine(ClusterState):
        def apply(self, index: int, data: bytes) -> bool:
            did.append("applies")
            return super().apply(index, data)

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def send(messages: Sequence[Message]) -> None:
            for message in messages:
                did.append(f"sends {type(message).__name__}")
                loop.call_soon(did.append, f"leaves {type(message).__name__}")
                if isinstance(message, VoteRequest):
                    vote = VoteResponse(
                        to=1, sender=message.to, term=message.term, granted=True, pre=message.pre
                    )
                    loop.call_soon(node.receive, [vote])

        with ThreadPoolExecutor(1) as disk:
            node = RaftNode(Config(id=1), found(Disk(), [1, 2, 3]), Machine(), send, disk)
            node.start()
            try:
                await test(node, did)
            finally:
                node.stop()

    asyncio.run(main())


def test_a_follower_acknowledges_what_is_written_before_it_applies():
    async def test(node: RaftNode, did: list[str]) -> None:
        entry = Entry(2, 7, data=ClusterState.encode(Put("k", b"v")))
        node.receive(
            [AppendRequest(to=1, sender=2, term=7, prev_index=1, prev_term=1, entries=(entry,), commit=2, round=1)]
        )  # fmt: skip
        await until(lambda: "applies" in did)
        applied = did.index("applies")
        assert did[applied - 3 : applied] == ["writes", "sends AppendResponse", "leaves AppendResponse"]

    among_three(test)


def test_a_leader_writes_while_its_entries_are_on_their_way():
    async def test(node: RaftNode, did: list[str]) -> None:
        await until(lambda: node.leads and "sends AppendRequest" in did)
        first = did.index("sends AppendRequest")
        await until(lambda: "writes" in did[first:])
        assert did[first:].index("leaves AppendRequest") < did[first:].index("writes")

    among_three(test)


def test_proposals_that_can_no_longer_be_committed_are_told_so():
    """Though the next leader writes nothing where they were."""

    async def test(node: RaftNode, did: list[str]) -> None:
        await until(lambda: node.leads and "sends AppendRequest" in did)
        term, last = node.lease.term, node.status().last_index
        proposals = [
            asyncio.create_task(node.propose(ClusterState.encode(Put(f"k{n}", b"v")))) for n in range(3)
        ]
        await until(lambda: node.status().last_index == last + 3)
        first = Entry(last + 1, term + 1, EntryKind.NOOP, b"")
        node.receive(
            [AppendRequest(to=1, sender=2, term=term + 1, prev_index=last, prev_term=term, entries=(first,),
                           commit=last + 1, round=1)]
        )  # fmt: skip
        async with asyncio.timeout(10):
            outcomes = await asyncio.gather(*proposals, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [NotLeader] * 3

    among_three(test)


def test_only_a_leader_steps_down():
    raft = Raft(Config(id=1), founded(), 0.0, Random(1))
    with pytest.raises(NotLeader):
        raft.step_down(0.0)
