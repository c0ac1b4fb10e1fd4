"""Nodes as a program uses them: shared state, leadership, probes, refusals."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from steersman.http import Client
from steersman.raft.config import NodeConfig
from steersman.raft.core import HardState, NotLeader
from steersman.raft.errors import NodeStopped, SettingsError, StorageError
from steersman.raft.manager import RaftNodeManager
from steersman.raft.storage import MemoryStorage, Storage
from tests.integration.raft.nodes import cluster, configs, leader_of, until
from tests.support.waiting import pass_time, pass_time_blocking

pytestmark = [pytest.mark.slow]


async def asked(manager: RaftNodeManager, path: str) -> tuple[int, str]:
    async with Client(f"http://127.0.0.1:{manager.http_port}") as client:
        response = await client.request("GET", path)
        return response.status, response.content.decode()


def test_every_node_reads_what_the_leader_wrote():
    async def main() -> None:
        async with cluster(3) as managers:
            leader = await leader_of(managers)
            assert await leader.put("k", b"1")
            for manager in managers:
                value = await manager.get("k")
                assert value is not None
                assert value.data == b"1"
            assert not await leader.put("k", b"2", over=0)
            assert await leader.put("k", b"2", over=value.version)
            assert await leader.delete("k")
            assert await managers[1].get("k") is None
            follower = next(manager for manager in managers if manager is not leader)
            with pytest.raises(NotLeader) as refusal:
                await follower.put("k", b"3")
            assert refusal.value.leader == leader.lease.leader
            assert follower.leader == leader.name

    asyncio.run(main())


def test_who_contends_while_the_node_is_being_made_leads():
    class Interrupted(MemoryStorage):
        """Is read when a node is made."""

        def hard_state(self) -> HardState:
            with suppress(StopIteration):
                manager.contend(True).send(None)
            return super().hard_state()

    class Config(NodeConfig):
        def open_storage(self) -> Storage:
            return Interrupted()

    [config] = configs(1)
    manager = RaftNodeManager(Config("test", config.settings), contending=False)

    async def main() -> None:
        async with manager:
            await until(lambda: manager.is_leader)

    asyncio.run(main())


def test_a_node_that_joins_late_gets_a_snapshot():
    async def main() -> None:
        first, second = (config.bootstrap() for config in configs(2))
        async with RaftNodeManager(first) as founder:
            await until(lambda: founder.is_leader)
            for batch in range(25):
                await asyncio.gather(*(founder.put(f"k{n}", b"%d" % batch) for n in range(100)))
            status = await founder.status()
            assert status.first_index > 1000, "the log was compacted"
            async with RaftNodeManager(second) as late:

                async def joined() -> bool:
                    return await founder.voters() == [0, 1]

                await until(joined)
                value = await late.get("k99")
                assert value is not None
                assert value.data == b"24"

    asyncio.run(main())


def test_a_program_that_blocks_keeps_leading():
    async def main() -> None:
        async with cluster(3) as managers:
            leader = await leader_of(managers)
            term = leader.term
            pass_time_blocking(2 * leader.config.settings.core.lease_s, "a reconcile that blocks its loop")
            assert leader.is_leader
            assert leader.term == term

    asyncio.run(main())


def test_leadership_goes_to_the_node_that_was_named():
    async def main() -> None:
        async with cluster(3) as managers:
            leader = await leader_of(managers)
            target = next(manager for manager in managers if manager is not leader)
            with pytest.raises(SettingsError, match="does not vote"):
                await leader.transfer(9)
            await leader.transfer(target.config.node)
            await until(lambda: target.is_leader)
            assert not leader.is_leader

    asyncio.run(main())


def test_probes_tell_what_is_so():
    async def main() -> None:
        async with cluster(1, lambda config: config.http("127.0.0.1:0")) as [manager]:
            answers = {}
            for page in ("health", "ready", "leader", "metrics", "else"):
                answers[page] = await asked(manager, f"/{page}")
            assert [answers[page][0] for page in answers] == [200, 200, 200, 200, 404]
            assert '"leader":"node-0"' in answers["leader"][1]
            assert "steersman_raft_is_leader 1\n" in answers["metrics"][1]
            assert "steersman_raft_tick_late_seconds " in answers["metrics"][1]

    asyncio.run(main())


def test_who_cannot_reach_a_peer_does_not_found_a_cluster():
    async def main() -> None:
        config = configs(2)[0].http("127.0.0.1:0")
        async with RaftNodeManager(config) as manager:
            assert await asked(manager, "/ready") == (503, "the node does not belong to a cluster yet\n")
            await pass_time(0.5, "several election timeouts, in which it founds no cluster")
            assert manager.unready()
            with pytest.raises(NodeStopped):
                await manager.put("k", b"")

    asyncio.run(main())


def test_the_folder_of_another_cluster_or_node_is_refused(tmp_path):
    async def main() -> None:
        [own], [other] = configs(1, "own"), configs(1, "other")
        async with RaftNodeManager.new_with_rocksdb(own, tmp_path) as manager:
            await until(lambda: manager.is_leader)
        with pytest.raises(StorageError, match="belongs to the Raft cluster 'own', not 'other'"):
            await RaftNodeManager.new_with_rocksdb(other, tmp_path).start()
        second = configs(2, "own")[1]
        with pytest.raises(StorageError, match="belongs to node 0, not to node 1"):
            await RaftNodeManager.new_with_rocksdb(second, tmp_path).start()

    asyncio.run(main())


def test_a_port_in_use_is_said():
    async def main() -> None:
        [config] = configs(1)
        async with RaftNodeManager(config):
            with pytest.raises(SettingsError, match="cannot listen on"):
                await RaftNodeManager(config).start()

    asyncio.run(main())
