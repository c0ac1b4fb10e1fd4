"""`RaftConfig` as an operator uses it: the node lives while the elector runs."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from steersman.aio import SystemClock
from steersman.client import Client
from steersman.election import ElectionConfig, Leadership
from steersman.election.raft import RaftConfig
from tests.support.ports import free_ports

pytestmark = [pytest.mark.slow]


def test_the_node_starts_and_ends_with_the_run_and_terms_grow(tmp_path):
    async def main() -> None:
        [port] = free_ports(1)
        declared: ElectionConfig = (
            RaftConfig("my-cluster")
            .node_id(0)
            .peers({0: f"me=127.0.0.1:{port}"})
            .storage("rocksdb", tmp_path / "raft")
        )
        terms: list[int] = []

        async def work(leadership: Leadership) -> None:
            leadership.check()
            assert elector.leader == elector.identity == "me"
            terms.append(leadership.term)

        for _ in range(2):
            elector = declared.elector(cast(Client, None), SystemClock())
            assert elector.name == "my-cluster"
            async with asyncio.timeout(20):
                await elector.run(work)
            assert not elector.is_leader
            assert elector.check() == ""
        assert terms[0] < terms[1]

    asyncio.run(main())
