"""`steer raft` against running nodes: with certificates, and in the clear on this machine."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from steersman.raft.config import NodeConfig
from steersman.raft.manager import RaftNodeManager
from tests.e2e.raft.certificates import TestAuthority
from tests.integration.raft.nodes import cluster, leader_of, until
from tests.support.ports import free_ports
from tests.support.steer import DEADLINE_S, STEER

pytestmark = pytest.mark.slow


async def steer_raft(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    done = await asyncio.to_thread(
        subprocess.run,
        [str(STEER), "raft", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    return done.returncode, done.stdout, done.stderr


async def done(*arguments: str) -> str:
    code, out, err = await steer_raft(*arguments)
    assert code == 0, err
    assert err == ""
    return out


async def refused(*arguments: str) -> str:
    code, out, err = await steer_raft(*arguments)
    assert code != 0
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("steer: ")
    return err.removeprefix("steer: ").rstrip()


class Certified:
    """Three nodes with certificates, and the options with which each is asked."""

    def __init__(self, folder: Path, authority: TestAuthority, managers: list[RaftNodeManager]) -> None:
        self.folder = folder
        self.authority = authority
        self.managers = managers

    def at(self, node: int, tls: Path | None = None) -> list[str]:
        address = self.managers[node].config.located.address
        return ["--address", address, "--tls", str(tls or self.folder / str(node))]

    async def leader(self) -> int:
        return self.managers.index(await leader_of(self.managers))


def with_certified_nodes(folder: Path, check: Callable[[Certified], Awaitable[None]]) -> None:
    async def main() -> None:
        authority = TestAuthority()

        def shape(config: Any) -> Any:
            tls = authority.write(folder / str(config.node), f"node-{config.node}")
            return config.tls(tls).storage("rocksdb", folder / f"data-{config.node}")

        async with cluster(3, shape) as managers:
            await check(Certified(folder, authority, managers))

    asyncio.run(main())


def test_a_node_tells_how_it_is_and_hands_over(tmp_path: Path) -> None:
    async def check(nodes: Certified) -> None:
        leader = await nodes.leader()
        follower = (leader + 1) % 3
        await nodes.managers[leader].put("k", b"1")

        report = json.loads(await done("status", *nodes.at(leader), "--output", "json"))
        assert (report["node"], report["role"], report["leader"]) == (leader, "leader", f"node-{leader}")
        assert report["applied_index"] == report["commit_index"] > 0
        assert [member["node"] for member in report["members"]] == [0, 1, 2]
        text = await done("status", *nodes.at(follower))
        assert f"{follower} (node-{follower}), follower" in text
        assert "3 vote, 0 learn" in text

        rows = [line.split() for line in (await done("members", *nodes.at(follower))).splitlines()]
        assert rows[0] == ["NODE", "NAME", "ADDRESS", "ROLE", "LOG"]
        assert {row[3] for row in rows[1:]} == {"leader", "voter"}
        assert all(int(row[4]) > 0 for row in rows[1:]), "the leader was asked"

        said = await done("snapshot", *nodes.at(follower))
        assert said.startswith(f"node-{follower} has a snapshot up to index ")
        snapshot = int(said.split()[-1])
        report = json.loads(await done("status", *nodes.at(follower), "--output", "json"))
        assert report["snapshot_index"] == snapshot > 0

        to = (leader + 2) % 3
        said = await done("transfer", str(to), *nodes.at(follower))
        assert said.startswith(f"node-{to} leads in term ")
        await until(lambda: nodes.managers[to].is_leader)
        assert await refused("transfer", "7", *nodes.at(to)) == (
            f"{nodes.managers[to].config.located.address}: node 7 does not vote"
        )

    with_certified_nodes(tmp_path, check)


def test_only_a_members_certificate_gives_orders(tmp_path: Path) -> None:
    async def check(nodes: Certified) -> None:
        outsider = nodes.authority.write(tmp_path / "outsider", "webserver")
        name = ("--server-name", "node-0")
        said = await refused("transfer", *nodes.at(0, outsider), *name)
        assert said.endswith("the certificate of webserver is not a member's")

        stranger = TestAuthority("other").write(tmp_path / "stranger", "node-0")
        assert await refused("status", *nodes.at(0, stranger))
        address = nodes.managers[0].config.located.address
        assert "--tls" in await refused("status", "--address", address)
        assert await refused("status", *nodes.at(0, tmp_path / "nowhere")) == (
            f"cannot read the certificate file {tmp_path}/nowhere/ca.crt: No such file or directory"
        )
        (tmp_path / "nothing").mkdir()
        for file in ("ca.crt", "tls.crt", "tls.key"):
            (tmp_path / "nothing" / file).write_text("nothing")
        assert (await refused("status", *nodes.at(0, tmp_path / "nothing"))).endswith(
            "tls.crt is not a certificate with a name in it; use --server-name"
        )
        assert await done("status", *nodes.at(0, tmp_path / "1"), *name), "any member's will do"

    with_certified_nodes(tmp_path, check)


def test_a_certificate_for_all_nodes_will_do(tmp_path: Path) -> None:
    async def main() -> None:
        [port] = free_ports(1)
        tls = TestAuthority().write(tmp_path, "*.web.default.svc")
        peer = f"web-0.web.default.svc=127.0.0.1:{port}"
        config = NodeConfig("wild").node_id(0).peers({0: peer}).tls(tls)
        async with RaftNodeManager(config) as manager:
            await until(lambda: manager.is_leader)
            said = await done("members", "--address", f"127.0.0.1:{port}", "--tls", str(tls))
            assert "web-0.web.default.svc" in said

    asyncio.run(main())


def test_in_the_clear_orders_are_taken_on_the_same_machine() -> None:
    async def main() -> None:
        async with cluster(1) as [manager]:
            address = manager.config.located.address
            assert "0 (node-0), leader" in await done("status", "--address", address)
            assert await refused("transfer", "--address", address) == (
                f"{address}: there is no other node that votes"
            )

    asyncio.run(main())


def test_nobody_there_is_said_in_one_line() -> None:
    async def main() -> None:
        [port] = free_ports(1)
        said = await refused("status", "--address", f"127.0.0.1:{port}")
        assert said == f"the node at 127.0.0.1:{port}: Connection refused"
        assert await refused("status", "--address", "nowhere") == "--address: 'nowhere' is not HOST:PORT"

    asyncio.run(main())
