"""Replicas that elect their leader among themselves: Raft with its default timing, RocksDB and mutual TLS.

The leader is killed, paused and silenced in the middle of its work on a hundred objects. Another goes on with
it within a second on a machine that has nothing else to do, and no child is written by a former leader after
its successor has written.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from steersman.aio import Scope
from steersman.client import Client
from steersman.objects.builders import Deployment
from steersman.operator.terms import TERM
from steersman.raft.errors import PeerUnavailable
from steersman.raft.state_machine import Located
from steersman.raft.transport import Order, OrderReply
from steersman.raft.transport.channels import ask
from steersman.raft.transport.tls import TlsFiles
from tests.e2e.raft.certificates import TestAuthority
from tests.support.ports import free_ports

from .replicas import Engine, Fleet, Replica, until
from .replicated_apps import Apps, audited_server, terms_of_writes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

APPS = [f"web-{number}" for number in range(100)]
HALF = len(APPS) // 2
NAMESPACE = "replicas-raft"
ROLES = ["leader", "voter", "voter"]
#: For a machine that does other things as well.
LIMIT_S = 10.0


class RaftNodes:
    """Who the replicas' nodes are; replica 1 has node 0."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = TestAuthority()
        self._addresses = [f"127.0.0.1:{port}" for port in free_ports(3)]

    def engine(self) -> Engine:
        return Engine("raft", environment=self._environment, silence=self._silence)

    def _environment(self, number: int) -> dict[str, str]:
        node = number - 1
        told = {
            "node": node,
            "peers": {node: f"node-{node}={address}" for node, address in enumerate(self._addresses)},
            "folder": str(self._folder / f"raft-{node}"),
            "tls": str(self._authority.write(self._tls(node), f"node-{node}")),
            "silence": str(self._silenced(number)),
        }
        return {"RAFT": json.dumps(told)}

    def _tls(self, node: int) -> Path:
        return self._folder / f"tls-{node}"

    def _silenced(self, number: int) -> Path:
        return self._folder / f"silence-{number}"

    def _silence(self, number: int, silent: bool) -> None:
        if silent:
            self._silenced(number).touch()
        else:
            self._silenced(number).unlink()

    async def order(self, node: int, action: str) -> OrderReply:
        """As `steer raft` does."""
        at, tls = Located(f"node-{node}", self._addresses[node]), TlsFiles.folder(self._tls(node))
        return await ask(at, tls, "Order", Order(action), OrderReply)

    async def complete(self) -> bool:
        """Whether all have a leader, and all of them vote."""
        for node in range(len(self._addresses)):
            try:
                report = (await self.order(node, "status")).report
            except PeerUnavailable:
                return False
            if report is None or sorted(member.role for member in report.members) != ROLES:
                return False
        return True

    async def transfer(self) -> bool:
        """Whether the leader has handed over."""
        replies = [await self.order(node, "transfer") for node in range(len(self._addresses))]
        return any(reply.report is not None for reply in replies)


class Writes:
    """When the children were first written in a term, by this process's clock."""

    def __init__(self) -> None:
        self.first: dict[int, float] = {}

    @asynccontextmanager
    async def watched(self, client: Client, since: str) -> AsyncIterator[None]:
        async def collect() -> None:
            watch = client.watch(
                Deployment, NAMESPACE, resource_version=since, timeout_s=600, bookmarks=False
            )
            async with watch as events:
                async for event in events:
                    term = int(event.decode()["metadata"]["annotations"][TERM])
                    self.first.setdefault(term, time.monotonic())

        async with Scope() as scope:
            task = scope.start(collect(), name="writes")
            yield
            task.cancel()

    def after(self, term: int) -> float | None:
        """When somebody first wrote in a later term."""
        return min((at for later, at in self.first.items() if later > term), default=None)


async def fail_over(fleet: Fleet, apps: Apps, writes: Writes, fault: str) -> tuple[Replica, float]:
    """Something happens to the leader when half of the apps are changed, and another does the rest: the old
    leader, and how long it took until somebody else wrote."""
    apps.next_version()
    await apps.roll_out(APPS[:HALF])
    leader = fleet.leader
    term = leader.term
    failed_at = time.monotonic()
    getattr(leader, fault)()
    await apps.roll_out(APPS[HALF:])
    await apps.converge()
    assert fleet.leader is not leader
    written_at = writes.after(term)
    assert written_at is not None
    return leader, written_at - failed_at


def test_a_raft_leader_that_fails_is_replaced_and_never_writes_after_its_successor(tmp_path: Path) -> None:
    took_s: dict[str, float] = {}

    async def scenario() -> list[int]:
        async with Client.load(kubeconfig=audited.server.kubeconfig) as client, Scope() as scope:
            made = await client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
            )
            since = made["metadata"]["resourceVersion"]
            nodes, writes = RaftNodes(tmp_path), Writes()
            with Fleet(audited.server, nodes.engine(), NAMESPACE, tmp_path, scope) as fleet:
                await fleet.start(3)
                await until(nodes.complete, "all nodes vote")
                async with writes.watched(client, since):
                    apps = Apps(client, NAMESPACE, APPS)
                    await apps.create()

                    killed, took_s["kill"] = await fail_over(fleet, apps, writes, "kill")
                    fleet.restart(killed)
                    await until(nodes.complete, "the killed one is back")
                    paused, took_s["pause"] = await fail_over(fleet, apps, writes, "pause")
                    paused.resume()
                    await until(nodes.complete, "the paused one is back")
                    cut_off, took_s["cut off"] = await fail_over(fleet, apps, writes, "cut_off")
                    cut_off.connect()
                    await until(nodes.complete, "the silenced one is back")
                    cut_off.forgotten()

                    await until(nodes.transfer, "leadership is handed over when asked for")
                    apps.next_version()
                    await apps.roll_out(APPS)
                    await apps.converge()
                    return await terms_of_writes(client, NAMESPACE, since)

    with audited_server(tmp_path) as audited:
        terms = asyncio.run(scenario())
    print("until the next leader's first write:", {fault: f"{s:.3f} s" for fault, s in took_s.items()})
    assert terms == sorted(terms)
    assert len(set(terms)) >= 5
    assert max(took_s.values()) < LIMIT_S
