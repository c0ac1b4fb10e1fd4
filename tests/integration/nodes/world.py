"""A cluster with simulated nodes and nothing else, in virtual time.

@with_nodes(2)
async def test_x(world: World) -> None: …
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.node import Nodes
from steersman.cluster.node.simulated import FleetConfig, add_simulated_nodes
from steersman.objects.conditions import find_condition
from steersman.objects.resources import EVENTS, NODES, PODS
from steersman.runtime import Manager
from steersman.testing import VirtualClock, eventually, run_virtual

Object = dict[str, Any]
Test = Callable[["World"], Awaitable[None]]

NAMESPACE = "default"
#: Virtual seconds.
PATIENCE_S = 60.0
PREFIX = "simulated.steersman.dev"


class World:
    def __init__(self, cluster: LocalCluster, count: int, config: FleetConfig) -> None:
        self.cluster = cluster
        self.client: Client = cluster.client()
        self.clock = VirtualClock()
        self.config = config
        self.count = count
        #: What nodes asked of the API, by method.
        self.requests: Counter[str] = Counter()
        self.manager, self.nodes = self.process()

    def process(self) -> tuple[Manager, Nodes]:
        """What a process with these nodes runs."""
        client = self.cluster.client(user_agent="kubelet", observe=self._observe)
        manager = Manager(client, clock=self.clock, address=None)
        return manager, add_simulated_nodes(manager, self.count, self.config)

    def _observe(self, method: str, *_: Any) -> None:
        self.requests[method] += 1

    async def create(
        self, name: str, *, script: Object | None = None, node: str = "node-1", **spec: Any
    ) -> Object:
        """Make a pod on a node; `script` has annotations without their prefix."""
        container = {"name": "main", "image": "example.com/app:1"}
        annotations = {
            key if "/" in key else f"{PREFIX}/{key}": value for key, value in (script or {}).items()
        }
        pod = {
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
            "spec": {"nodeName": node, "containers": [container], **spec},
        }
        return await self.client.create(pod, kind=PODS)

    async def pod(self, name: str) -> Object:
        return await self.client.get(PODS, name, NAMESPACE)

    async def node(self, name: str = "node-1") -> Object:
        return await self.client.get(NODES, name)

    async def annotate(self, resource: Any, name: str, **annotations: str | None) -> None:
        changed = {f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()}
        patch = {"metadata": {"annotations": changed}}
        await self.client.patch(resource, name, patch, NAMESPACE)

    async def until(self, name: str, holds: Callable[[Object], Any], timeout_s: float = PATIENCE_S) -> Object:
        """The pod as soon as this is true of it."""

        async def found() -> Object | None:
            pod = await self.client.find(PODS, name, NAMESPACE)
            return pod if pod is not None and holds(pod) else None

        return await eventually(found, timeout_s, what=f"pod {name}")

    async def running(self, name: str) -> Object:
        return await self.until(name, lambda pod: pod["status"]["phase"] == "Running")

    async def gone(self, name: str, timeout_s: float = PATIENCE_S) -> None:
        async def nothing() -> bool:
            return await self.client.find(PODS, name, NAMESPACE) is None

        await eventually(nothing, timeout_s)

    async def events(self, name: str) -> list[tuple[str, str, str]]:
        """(type, reason, note) of what was told about an object, in order."""
        await asyncio.sleep(0.1)
        told = [event for event in await self.client.list(EVENTS) if event["regarding"]["name"] == name]
        told.sort(key=lambda event: event["metadata"]["name"].rpartition(".")[2])
        return [(event["type"], event["reason"], event["note"]) for event in told]


def main_of(pod: Object) -> Object:
    """The status of its only container; a blank one before the node has said anything."""
    blank = {"state": {}, "restartCount": 0, "image": ""}
    status: Object = (pod["status"].get("containerStatuses") or [blank])[0]
    return status


def waits_for(reason: str) -> Callable[[Object], bool]:
    return lambda pod: main_of(pod)["state"].get("waiting", {}).get("reason") == reason


def is_ready(pod: Object) -> bool:
    condition = find_condition(pod["status"].get("conditions"), "Ready")
    return condition is not None and condition["status"] == "True"


def with_nodes(count: int = 1, **config: Any) -> Callable[[Test], Callable[[], None]]:
    """Make a test of an async function that takes a world."""

    def decorate(test: Test) -> Callable[[], None]:
        def run() -> None:
            run_virtual(_run(test, count, FleetConfig(**config)))

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


async def _run(test: Test, count: int, config: FleetConfig) -> None:
    async with LocalCluster(ClusterConfig(controllers=(), disabled_admission=("ServiceAccount",))) as cluster:
        world = World(cluster, count, config)
        async with Scope() as scope:
            running = scope.start(world.manager.run())
            await eventually(lambda: len(world.nodes.nodes.cache) >= count, PATIENCE_S)
            testing = scope.start(test(world))
            await asyncio.wait((testing, running), return_when=asyncio.FIRST_COMPLETED)
            world.manager.stop()
            await running
            await testing
