"""Nodes of one cluster, in virtual time: how leadership passes from one to the next."""

from __future__ import annotations

import asyncio

import pytest

from steersman.raft.errors import NodeStopped
from tests.sim.virtual_time import VirtualClock, run_virtual
from tests.support.raft_here import NodeHere, Wires, nodes_here


async def next_leader(nodes: list[NodeHere]) -> NodeHere:
    async with asyncio.timeout(10):
        while True:
            for node in nodes:
                if node.is_leader:
                    return node
            await asyncio.sleep(0.001)


def test_who_stops_hands_over_first():
    async def main() -> None:
        clock = VirtualClock()
        async with nodes_here(Wires(), clock) as nodes:
            leader, *others = nodes.values()
            for other in others:
                await other.contend(True)
            stopping = clock.monotonic()
            await leader.stop()
            await next_leader(others)
            # Nobody had to find out that the leader is gone.
            assert clock.monotonic() - stopping < leader.config.settings.core.election_min_s / 2
            with pytest.raises(NodeStopped):
                await leader.put("k", b"")
            assert not leader.is_leader

    run_virtual(main())


def test_who_is_cut_off_is_followed_after_its_lease_and_not_before():
    async def main() -> None:
        clock, wires = VirtualClock(), Wires()
        async with nodes_here(wires, clock) as nodes:
            leader, *others = nodes.values()
            for other in others:
                await other.contend(True)
            wires.cut.add(leader.name)
            cut_off = clock.monotonic()
            until = leader.lease.until
            successor = await next_leader(others)
            assert until <= clock.monotonic()
            assert not leader.is_leader
            assert clock.monotonic() - cut_off < 4 * leader.config.settings.core.election_max_s
            assert successor.term > leader.term

    run_virtual(main())
