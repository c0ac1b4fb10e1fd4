"""What the client's tests share: a cluster to talk to, over a socket and within the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster

DEADLINE_S = 30

Act = Callable[[LocalCluster, Client], Awaitable[Any]]


@asynccontextmanager
async def connected(way: str, **config: Any) -> AsyncIterator[tuple[LocalCluster, Client]]:
    async with asyncio.timeout(DEADLINE_S), LocalCluster(ClusterConfig(**config)) as cluster:
        made = cluster.client() if way == "in-process" else Client.load(kubeconfig=cluster.kubeconfig)
        async with made as client:
            yield cluster, client


@pytest.fixture(params=["socket", "in-process"])
def against_cluster(request: pytest.FixtureRequest) -> Callable[[Act], Any]:
    """Runs a function with a cluster and its admin's client, each way to reach it."""

    def run(act: Act) -> Any:
        async def main() -> Any:
            async with connected(request.param) as (cluster, client):
                return await act(cluster, client)

        return uvloop.run(main())

    return run
