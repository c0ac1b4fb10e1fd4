"""What a node tells clients of their requests: what happened, what did not, and what it does not know."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from steersman.raft.core import AppendRequest, Config, Snapshot, founding
from steersman.raft.errors import StorageError
from steersman.raft.node import RaftNode
from steersman.raft.service import StateService
from steersman.raft.state_machine import ClusterState, Delete, Located, Put, Value
from steersman.raft.storage import MemoryStorage
from steersman.raft.storage import Write as DiskWrite
from steersman.raft.transport.requests import (
    Declined,
    Forbidden,
    Found,
    Read,
    Reply,
    Unclear,
    Welcome,
    Write,
    Written,
)
from tests.support.waiting import until

OTHER = Located("node-1", "host:2")


class Disk(MemoryStorage):
    full = False

    def write(self, write: DiskWrite) -> None:
        if self.full:
            raise StorageError("no space left")
        super().write(write)


class Place:
    """Where the node is: what the service asks of the ClusterManager."""

    def __init__(self) -> None:
        self.node: RaftNode | None = None
        self.state = ClusterState()

    def locate(self, member: int) -> Located | None:
        return OTHER if member == 2 else None


class Asked:
    def __init__(self, place: Any) -> None:
        self.service = StateService(place)
        self.replies: list[Reply] = []

    async def write(self, *requests: Write) -> list[Reply]:
        self.replies = []
        self.service.write(requests, self.replies.append)
        await until(lambda: len(self.replies) == len(requests))
        return sorted(self.replies, key=lambda reply: reply.id)


def with_member_1_of(voters: list[int], test: Callable[[RaftNode, Asked, Disk], Awaitable[None]]) -> None:
    async def main() -> None:
        storage, place = Disk(), Place()
        # Who has others to hear from does not campaign while the test lasts.
        patient = {} if voters == [1] else {"election_min_s": 600.0, "election_max_s": 1200.0}
        config = Config(id=1, **patient)
        hard_state, meta = founding(voters)
        storage.write(DiskWrite(snapshot=Snapshot(meta, b""), hard_state=hard_state))
        with ThreadPoolExecutor(1) as disk:
            node = place.node = RaftNode(config, storage, place.state, lambda _: None, disk)
            node.start()
            try:
                await test(node, Asked(place), storage)
            finally:
                node.stop()
                if node.failed.done():
                    node.failed.exception()

    asyncio.run(main())


def test_the_leader_does_what_it_is_asked():
    async def test(node: RaftNode, asked: Asked, storage: Disk) -> None:
        await until(lambda: node.leads)
        assert asked.service.welcome() == Welcome(node.lease.term, leads=True)
        replies = await asked.write(
            Write(1, Put("k", b"v")),
            Write(2, Put("k", b"w", 0)),
            Write(3, Put("l", b"")),
            Write(4, Delete("l")),
        )
        assert replies == [Written(1, True), Written(2, False), Written(3, True), Written(4, True)]
        value = asked.service._cluster.state.values["k"]
        found = [Found(5, Value(b"v", value.version)), Found(6, None)]
        assert await asked.service.read([Read(5, "k"), Read(6, "l")]) == found
        assert [type(reply) for reply in await asked.write(
            Write(7, Put("steersman/size", b"1")), Write(8, Put("k", bytes(2 << 20))), Write(9, Put("k", b"")),
        )] == [Forbidden, Forbidden, Written]  # fmt: skip

    with_member_1_of([1], test)


def test_a_follower_says_who_leads():
    async def test(node: RaftNode, asked: Asked, storage: Disk) -> None:
        node.receive(
            [AppendRequest(to=1, sender=2, term=7, prev_index=1, prev_term=1, entries=(), commit=1, round=1)]
        )
        await until(lambda: node.lease.leader == 2)
        assert asked.service.welcome() == Welcome(7, leads=False, leader=OTHER)
        assert await asked.write(Write(1, Put("k", b""))) == [Declined(1, "member 2 is the leader", OTHER)]
        assert await asked.service.read([Read(2, "k")]) == [Declined(2, "this node does not lead", OTHER)]

    with_member_1_of([1, 2, 3], test)


def test_a_node_that_stops_does_not_know_what_becomes_of_what_it_proposed():
    async def test(node: RaftNode, asked: Asked, storage: Disk) -> None:
        await until(lambda: node.leads)
        storage.full = True
        assert await asked.write(Write(1, Put("k", b""))) == [Unclear(1, "the node was stopped")]
        [declined] = await asked.service.read([Read(2, "k")])
        assert isinstance(declined, Declined), "reads change nothing"

    with_member_1_of([1], test)


def test_a_node_without_a_cluster_declines():
    async def main() -> None:
        asked = Asked(Place())
        assert asked.service.welcome() == Welcome(0, leads=False)
        why = "the node does not belong to a cluster yet"
        assert await asked.write(Write(1, Put("k", b""))) == [Declined(1, why)]
        assert await asked.service.read([Read(2, "k")]) == [Declined(2, why)]

    asyncio.run(main())
