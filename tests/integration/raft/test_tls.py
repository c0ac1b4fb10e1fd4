"""Both ends show certificates of one CA, with the names that the member list has; the files may change."""

from __future__ import annotations

import asyncio

import pytest

from steersman.raft.errors import PeerUnavailable
from steersman.raft.manager import RaftNodeManager
from steersman.raft.state_machine import Located
from steersman.raft.transport import Hello, ProbeRequest
from steersman.raft.transport.grpc import RaftNetwork
from steersman.raft.transport.tls import TlsFiles
from tests.e2e.raft.certificates import TestAuthority
from tests.integration.raft.nodes import cluster, configs, leader_of, until
from tests.support.waiting import pass_time

pytestmark = [pytest.mark.slow]


def prober(tls: TlsFiles | None) -> RaftNetwork:
    nobody = Located("nobody", "127.0.0.1:1")
    return RaftNetwork("127.0.0.1:0", lambda to: Hello("", 1, to, nobody), lambda _: None, tls)


@pytest.mark.parametrize("kind", ["its own", "another ca", "none"])
def test_only_certificates_of_the_ca_are_taken(tmp_path, kind):
    async def main() -> None:
        authority = TestAuthority()
        [config] = configs(1)
        config = config.tls(authority.write(tmp_path / "node", "node-0"))
        issuer = TestAuthority("other") if kind == "another ca" else authority
        stranger = TlsFiles.folder(issuer.write(tmp_path / "peer", "node-1")) if kind != "none" else None
        async with RaftNodeManager(config) as manager:
            asking = prober(stranger).probe(manager.config.located, ProbeRequest("test"))
            if kind == "its own":
                assert (await asking).cluster == "test"
            else:
                with pytest.raises(PeerUnavailable):
                    await asking

    asyncio.run(main())


def test_a_member_with_the_certificate_of_another_name_stays_outside(tmp_path):
    async def main() -> None:
        authority = TestAuthority()
        good, bad = configs(2)
        good = good.tls(authority.write(tmp_path / "good", "node-0")).bootstrap()
        bad = bad.tls(authority.write(tmp_path / "bad", "webserver"))
        async with RaftNodeManager(good) as founder, RaftNodeManager(bad) as intruder:
            await until(lambda: founder.is_leader)
            await until(lambda: not intruder.unready().startswith("the node does not belong"))
            await pass_time(1.0, "several attempts to join, all refused")
            assert await founder.voters() == [0]
            assert intruder.unready() == "the node is not a member yet"

    asyncio.run(main())


def test_certificates_are_replaced_while_the_nodes_run(tmp_path):
    async def main() -> None:
        old = TestAuthority("old")

        def shape(config):
            return config.tls(old.write(tmp_path / str(config.node), f"node-{config.node}"))

        async with cluster(3, shape) as managers:
            new = TestAuthority("new")
            for node in range(3):
                new.write(tmp_path / str(node), f"node-{node}")
            probing = prober(TlsFiles.folder(new.write(tmp_path / "peer", "node-1")))
            for manager in managers:
                assert (await probing.probe(manager.config.located, ProbeRequest("test"))).cluster == "test"

            async def writes() -> bool:
                return await (await leader_of(managers)).put("k", b"1")

            await pass_time(3.0, "the files are looked at every two seconds")
            assert await until(writes)

    asyncio.run(main())
