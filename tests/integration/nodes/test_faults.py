"""Nodes and an API that fails them: what runs goes on, and what is said becomes right in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.node import Nodes
from steersman.cluster.node.simulated import add_simulated_nodes
from steersman.objects.conditions import condition_is
from steersman.objects.resources import LEASES, NODES, PODS
from steersman.runtime import Manager
from steersman.testing import Cluster, eventually, virtual_time

PATIENCE_S = 300.0


@asynccontextmanager
async def fleet(cluster: Cluster, count: int = 1, **options: Any) -> AsyncIterator[Nodes]:
    """Nodes whose requests suffer the cluster's faults."""
    manager = Manager(cluster.client(faulty=True), clock=cluster.clock, address=None)
    nodes = Nodes(manager, **options)
    manager.add_service("nodes", nodes.run)
    add_simulated_nodes(manager, count, nodes=nodes)
    async with Scope() as scope:
        running = scope.start(manager.run())
        yield nodes
        manager.stop()
        await running


def world() -> Cluster:
    return Cluster(controllers=(), disabled_admission=("ServiceAccount",))


async def create(client: Client, name: str, node: str = "node-1", **annotations: str) -> None:
    scripted = {
        f"simulated.steersman.dev/{key.replace('_', '-')}": value for key, value in annotations.items()
    }
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "app:1"}]}
    metadata = {"name": name, "namespace": "default", "annotations": scripted}
    await client.create({"metadata": metadata, "spec": spec}, kind=PODS)


async def phases(client: Client) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in await client.list(PODS)}


async def until_phases(client: Client, **wanted: str) -> None:
    async def so() -> bool:
        return await phases(client) == wanted

    await eventually(so, PATIENCE_S)


@virtual_time
async def test_a_status_that_is_not_taken_is_sent_again() -> None:
    async with world() as cluster, fleet(cluster) as nodes:
        cluster.faults.refuse(500, resource="pods/status", times=3)
        await create(cluster.client(), "a")
        await until_phases(cluster.client(), a="Running")
        assert nodes.statuses.written == 4


@virtual_time
async def test_an_answer_that_is_lost_changes_nothing() -> None:
    async with world() as cluster, fleet(cluster) as nodes:
        client = cluster.client()
        cluster.faults.lose_answers(resource="pods/status", times=1)
        await create(client, "a")
        await until_phases(client, a="Running")
        cluster.faults.lose_answers(verb="delete", resource="pods", times=1)
        await client.delete(PODS, "a", "default")
        await until_phases(client)
        await eventually(lambda: not nodes.agents["node-1"].workers)


@virtual_time
async def test_pods_run_on_while_the_api_is_away() -> None:
    async with world() as cluster, fleet(cluster) as nodes:
        client = cluster.client()
        await create(client, "stays")
        await create(client, "crashes", run_time="30s", exit_code="1")
        await create(client, "goes")
        await until_phases(client, stays="Running", crashes="Running", goes="Running")
        before = await client.get(PODS, "stays", "default")
        with cluster.faults.lose_requests():
            cluster.faults.drop_watches()
            await client.delete(PODS, "goes", "default")
            await create(client, "comes")
            await asyncio.sleep(120)
            assert (await phases(client))["comes"] == "Pending"
        await until_phases(client, stays="Running", crashes="Running", comes="Running")
        assert (await client.get(PODS, "stays", "default"))["status"] == before["status"]

        async def restarted() -> bool:
            crashed = await client.get(PODS, "crashes", "default")
            return bool(crashed["status"]["containerStatuses"][0]["restartCount"] > 1)

        await eventually(restarted, 20)
        assert nodes.agents["node-1"].host.load.pods == 3


@virtual_time
async def test_a_node_registers_when_the_api_comes() -> None:
    async with world() as cluster:
        with cluster.faults.lose_requests(verb="create"):
            async with fleet(cluster):
                client = cluster.client()
                await asyncio.sleep(30)
                assert await client.find(NODES, "node-1") is None
                cluster.faults.clear()
                await eventually(lambda: client.find(LEASES, "node-1", "kube-node-lease"), 5)


def test_a_nodes_status_that_cannot_be_put_right_now_is_later(caplog: pytest.LogCaptureFixture) -> None:
    @virtual_time
    async def test() -> None:
        async with world() as cluster, fleet(cluster):
            client = cluster.client()
            await eventually(lambda: client.find(LEASES, "node-1", "kube-node-lease"), 5)
            wrong = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
            with cluster.faults.lose_requests(verb="patch"):
                await client.patch(NODES, "node-1", wrong, type="strategic", subresource="status")
                await eventually(lambda: "cannot write the status of node node-1" in caplog.text, PATIENCE_S)

            async def right() -> bool:
                node = await client.get(NODES, "node-1")
                return condition_is(node["status"]["conditions"], "Ready", "True")

            await eventually(right, PATIENCE_S)

    test()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@virtual_time
async def test_a_process_with_one_node_looks_at_that_one_only() -> None:
    async with world() as cluster, fleet(cluster, only="node-1") as nodes:
        client = cluster.client()
        await create(client, "elsewhere", "node-2")
        await create(client, "here")
        await until_phases(client, here="Running", elsewhere="Pending")
        assert [cached.key.name for cached in nodes.pods.cache] == ["here"]
        await eventually(lambda: client.find(LEASES, "node-1", "kube-node-lease"), 5)
        await client.delete(PODS, "here", "default")
        await until_phases(client, elsewhere="Pending")


@virtual_time
async def test_churn_under_faults_ends_where_it_should() -> None:
    async with world() as cluster, fleet(cluster, 3) as nodes:
        client = cluster.client()
        cluster.faults.refuse(500, verb="write", probability=0.2)
        cluster.faults.lose_answers(verb="write", probability=0.1)
        cluster.faults.lose_requests(verb="write", probability=0.1)
        for number in range(30):
            await create(client, f"p{number}", f"node-{number % 3 + 1}", stop_time="never")
            if number >= 10 and number % 2:
                await client.delete(PODS, f"p{number - 10}", "default", grace_s=number % 5)
            if number % 7 == 0:
                cluster.faults.drop_watches()
            await asyncio.sleep(1)
        left = {f"p{number}": "Running" for number in range(30) if number >= 20 or number % 2 == 0}
        await until_phases(client, **left)
        cluster.faults.clear()
        await eventually(lambda: sum(len(agent.workers) for agent in nodes.agents.values()) == len(left))
        assert sum(agent.host.load.pods for agent in nodes.agents.values()) == len(left)
        restarts = {pod["status"]["containerStatuses"][0]["restartCount"] for pod in await client.list(PODS)}
        assert restarts == {0}
