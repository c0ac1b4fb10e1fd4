"""A cluster with a scheduler and nothing else, in virtual time; tests play the part of nodes and controllers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.scheduler import ProfileConfig, add_scheduler
from steersman.objects.conditions import find_condition
from steersman.objects.resources import EVENTS, NODES, PODS, SERVICE_ACCOUNTS
from steersman.runtime import Manager
from tests.sim.virtual_time import VirtualClock, run_virtual

Object = dict[str, Any]
#: Virtual seconds: longer than anything takes that happens at all.
PATIENCE_S = 1200.0


class Cluster:
    """What tests do to a cluster, and what they wait for."""

    def __init__(self, client: Client, local: LocalCluster) -> None:
        self.client = client
        self.local = local

    async def node(
        self, name: str, *, labels: dict[str, str] | None = None, cpu: str = "4", **spec: Any
    ) -> None:
        """A node that is ready."""
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        await self.client.create(
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
                "status": {"allocatable": amounts, "capacity": amounts},
            },
            kind=NODES,
        )
        # The taint of a node that is not ready yet goes with this.
        await self.client.patch(NODES, name, {"spec": {"taints": None, **spec}})

    async def pod(
        self, name: str, *, cpu: str = "1", labels: dict[str, str] | None = None, **spec: Any
    ) -> Object:
        metadata = {"name": name, "labels": labels or {}, **spec.pop("metadata", {})}
        container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
        body = {
            "containers": [{**container, **spec.pop("container", {})}],
            "terminationGracePeriodSeconds": 0,
        }
        return await self.client.create({"metadata": metadata, "spec": {**body, **spec}}, kind=PODS)

    async def node_of(self, name: str) -> str:
        """Where a pod is, as soon as it is anywhere."""
        node = await self.until(lambda: self._node(name))
        return str(node)

    async def _node(self, name: str) -> str:
        return str((await self.client.get(PODS, name))["spec"].get("nodeName") or "")

    async def refusal(self, name: str, containing: str = "") -> str:
        """Why a pod has no node, as soon as its status says so."""

        async def message() -> str:
            pod = await self.client.find(PODS, name)
            condition = find_condition((pod or {}).get("status", {}).get("conditions"), "PodScheduled")
            if condition is None or condition["status"] != "False" or containing not in condition["message"]:
                return ""
            assert condition["reason"] in ("Unschedulable", "SchedulerError")
            return str(condition["message"])

        return str(await self.until(message))

    async def nominated(self, name: str) -> str:
        async def node() -> str:
            return str((await self.client.get(PODS, name))["status"].get("nominatedNodeName") or "")

        return str(await self.until(node))

    async def gone(self, name: str) -> None:
        async def absent() -> bool:
            return await self.client.find(PODS, name) is None

        await self.until(absent)

    async def events(self, reason: str) -> list[Object]:
        """The events of this reason, as soon as there is one."""

        async def found() -> list[Object]:
            return [event for event in await self.client.list(EVENTS, "default") if event["reason"] == reason]

        events: list[Object] = await self.until(found)
        return events

    async def until(self, found: Callable[[], Awaitable[Any]]) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            while not (result := await found()):
                await asyncio.sleep(0.05)
            return result

    @asynccontextmanager
    async def scheduler(self, *profiles: ProfileConfig) -> AsyncIterator[Manager]:
        manager = Manager(self.local.client(user_agent="scheduler"), address=None, clock=VirtualClock())
        add_scheduler(manager, profiles or (ProfileConfig(),), host="here")
        running = asyncio.create_task(manager.run())
        try:
            yield manager
        finally:
            manager.stop()
            await running


def with_scheduler(
    *profiles: ProfileConfig, nodes: Sequence[str] = ("one", "two", "three")
) -> Callable[[Callable[[Cluster], Awaitable[None]]], Callable[[], None]]:
    """Make a test of an async function that takes a cluster with ready nodes of 4 CPUs and a scheduler."""

    def decorate(test: Callable[[Cluster], Awaitable[None]]) -> Callable[[], None]:
        def run() -> None:
            run_virtual(_run(test, profiles, nodes))

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


async def _run(
    test: Callable[[Cluster], Awaitable[None]], profiles: Sequence[ProfileConfig], nodes: Sequence[str]
) -> None:
    async with LocalCluster(ClusterConfig(controllers=())) as local:
        cluster = Cluster(local.client(), local)
        await cluster.client.create(
            {"metadata": {"name": "default", "namespace": "default"}}, kind=SERVICE_ACCOUNTS
        )
        for name in nodes:
            await cluster.node(name)
        async with cluster.scheduler(*profiles):
            await test(cluster)
