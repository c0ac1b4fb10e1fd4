"""Nodes without room for a second pod: a place that the API shows as free is free to the node, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from steersman.client import Client
from steersman.cluster.node.agent import NodeAgent
from steersman.objects.resources import PODS
from steersman.testing import Cluster, eventually, virtual_time

from .test_faults import PATIENCE_S, fleet, phases, until_phases, world

#: All that a simulated node has.
_WHOLE = {"requests": {"cpu": "8"}}


async def create(client: Client, name: str, **fields: Any) -> None:
    container = {"name": "main", "image": "app:1", "resources": _WHOLE}
    spec = {"nodeName": "node-1", "containers": [container], **fields}
    await client.create({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, kind=PODS)


async def gone(client: Client, name: str) -> None:
    async def nothing() -> bool:
        return await client.find(PODS, name, "default") is None

    await eventually(nothing, PATIENCE_S)


def hold(agent: NodeAgent, what: str, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Have the node's engine wait before it does this."""
    let_go = asyncio.Event()
    do: Callable[[str], Any] = getattr(agent.host.runtime, what)

    async def held(sandbox_id: str) -> None:
        await let_go.wait()
        await do(sandbox_id)

    monkeypatch.setattr(agent.host.runtime, what, held)
    return let_go


def test_the_place_of_a_deleted_pod_is_free_before_its_files_are_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @virtual_time
    async def test() -> None:
        async with world() as cluster, fleet(cluster) as nodes:
            client = cluster.client()
            await create(client, "old")
            await until_phases(client, old="Running")
            removing = hold(nodes.agents["node-1"], "remove_pod_sandbox", monkeypatch)
            await client.delete(PODS, "old", "default")
            await gone(client, "old")
            await create(client, "new")
            await until_phases(client, new="Running")
            removing.set()

    test()


def test_the_place_of_a_pod_that_has_ended_is_free_before_anything_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @virtual_time
    async def test() -> None:
        async with world() as cluster, fleet(cluster) as nodes:
            client = cluster.client()
            await create(client, "old", restartPolicy="Never", activeDeadlineSeconds=5)
            removing = hold(nodes.agents["node-1"], "remove_pod_sandbox", monkeypatch)
            await until_phases(client, old="Failed")
            await create(client, "new")
            await until_phases(client, old="Failed", new="Running")
            removing.set()

    test()


@virtual_time
async def test_a_slow_watch_takes_no_place_twice() -> None:
    async with world() as cluster, fleet(cluster):
        client = cluster.client()
        await create(client, "pod-0")
        await until_phases(client, **{"pod-0": "Running"})
        with cluster.faults.lag_watches(3.0, "pods"):
            for number in range(10):
                await client.delete(PODS, f"pod-{number}", "default", grace_s=1 if number % 2 else 0)
                await gone(client, f"pod-{number}")
                await create(client, f"pod-{number + 1}")
                await until_phases(client, **{f"pod-{number + 1}": "Running"})


@virtual_time
async def test_a_pod_of_the_same_name_takes_the_place_of_the_one_before() -> None:
    async with world() as cluster, fleet(cluster):
        client = cluster.client()
        await create(client, "same")
        await until_phases(client, same="Running")
        for grace_s in (0, 1, 0, 1):
            await client.delete(PODS, "same", "default", grace_s=grace_s)
            await gone(client, "same")
            await create(client, "same")
            await until_phases(client, same="Running")


async def deleted_while_its_status_is_written(cluster: Cluster, client: Client) -> None:
    """Delete a pod by force while the node waits for an answer about it, and so is not told."""
    writing = asyncio.Event()
    with (
        cluster.faults.call(writing.set, resource="pods/status"),
        cluster.faults.delay(20.0, resource="pods/status"),
    ):
        patch = {"metadata": {"labels": {"changed": "yes"}}, "status": {"podIP": "10.9.9.9"}}
        await client.patch(PODS, "old", patch, "default", type="strategic", subresource="status")
        await asyncio.wait_for(writing.wait(), PATIENCE_S)
        await client.delete(PODS, "old", "default", grace_s=0)
        await gone(client, "old")
        await create(client, "new")
        await asyncio.sleep(5)


@virtual_time
async def test_a_pod_that_is_gone_has_left_its_place_whatever_the_node_waits_for() -> None:
    async with world() as cluster, fleet(cluster):
        client = cluster.client()
        await create(client, "old")
        await until_phases(client, old="Running")
        await deleted_while_its_status_is_written(cluster, client)
        await until_phases(client, new="Running")


@virtual_time
async def test_what_happened_while_the_node_was_cut_off_is_taken_as_a_whole() -> None:
    async with world() as cluster, fleet(cluster):
        client = cluster.client()
        await create(client, "old")
        await until_phases(client, old="Running")
        with cluster.faults.lose_requests():
            cluster.faults.drop_watches()
            await client.delete(PODS, "old", "default", grace_s=0)
            await create(client, "new")
            assert await phases(client) == {"new": "Pending"}
        await until_phases(client, new="Running")


@virtual_time
async def test_a_pod_for_which_there_is_no_room_is_refused() -> None:
    async with world() as cluster, fleet(cluster):
        client = cluster.client()
        await create(client, "there")
        await until_phases(client, there="Running")
        await create(client, "more")
        await until_phases(client, there="Running", more="Failed")
        assert (await client.get(PODS, "more", "default"))["status"]["reason"] == "OutOfcpu"
