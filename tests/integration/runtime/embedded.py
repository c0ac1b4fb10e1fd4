"""A cluster in the test's process, in virtual time: `@in_cluster async def test_x(client): …`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resource_type import ResourceType
from tests.sim.virtual_time import run_virtual

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")
#: Virtual seconds: longer than anything takes that happens at all.
PATIENCE_S = 600.0


def in_cluster(test: Callable[[Client], Awaitable[None]]) -> Callable[[], None]:
    """Make a test of an async function that takes a client."""

    def run() -> None:
        async def main() -> None:
            async with LocalCluster(ClusterConfig()) as cluster:
                await test(cluster.client())

        run_virtual(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.05)


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {}}
