"""Promises that need controllers and nodes: some controllers run, and nodes are played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from steersman.aio import Scope
from steersman.cluster.controllers.registry import add_controllers
from steersman.cluster.controllers.setup import Setup
from steersman.runtime import Manager
from tests.integration.controllers.workloads import Nodes
from tests.support.api import PATIENCE_S, ApiClient, api

from .keeping import NAMESPACE, Keeping, promised

__all__ = ["NODE_NAMES", "keep_living", "living_promise"]

#: The nodes there are, ready for pods.
NODE_NAMES = ("node-1", "node-2")


@asynccontextmanager
async def _living_api(controllers: tuple[str, ...]) -> AsyncIterator[ApiClient]:
    async with (
        asyncio.timeout(PATIENCE_S * 3),
        api(controllers=("resourcequota",)) as client,
        Scope() as scope,
    ):
        await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for name in NODE_NAMES:
            await client.ok("POST", "/api/v1/nodes", {"metadata": {"name": name}})
            await client.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
        manager = Manager(client.cluster.client(), address=None)
        add_controllers(Setup(manager), controllers)
        Nodes(manager.client, manager)
        scope.start(manager.run())
        yield client
        scope.cancel()


def keep_living(test: Keeping, controllers: tuple[str, ...]) -> None:
    async def body() -> None:
        async with _living_api(controllers) as client:
            await test(client)

    asyncio.run(body())


def living_promise(name: str, *controllers: str) -> Callable[[Keeping], Callable[[], None]]:
    """Make a test of an async function that keeps the promise while these controllers run."""
    promised(name)

    def decorate(test: Keeping) -> Callable[[], None]:
        def run() -> None:
            keep_living(test, controllers)

        run.__name__, run.__doc__ = test.__name__, f"{name}."
        return run

    return decorate
