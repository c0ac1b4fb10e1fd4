"""The cluster follows its StatefulSet's replicas, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from steersman.aio import SystemClock
from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.election.raft.replicas import ReplicaFollower
from tests.integration.raft.nodes import cluster, leader_of, until

pytestmark = [pytest.mark.slow]


def stateful_set(replicas: int) -> dict:
    labels = {"app": "web"}
    container = {"name": "c", "image": "i"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "web",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def test_nodes_beyond_the_replicas_are_removed():
    asyncio.run(_nodes_beyond_the_replicas_are_removed())


async def _nodes_beyond_the_replicas_are_removed() -> None:
    async with LocalCluster(ClusterConfig()) as local:
        await _follow(local.client())


async def _follow(client: Client) -> None:
    follower = ReplicaFollower(client, "web", "default", SystemClock())
    async with cluster(3) as managers:
        leader = await leader_of(managers)
        await follower.follow(leader)
        assert leader.size is None, "a StatefulSet that is not there says nothing"
        await client.create(stateful_set(2))
        await follower.follow(leader)
        assert leader.size == 2

        async def shrunk() -> bool:
            return await (await leader_of(managers)).voters() == [0, 1]

        await until(shrunk)
