"""A cluster with one process node and nothing else.

async with process_node(tmp_path) as world: …
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.node import Nodes
from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.pod_preparation import PodServices, pod_services
from steersman.cluster.node.process.assembly import NodeParts, ProcessNodeConfig, add_process_node
from steersman.cluster.node.process.engine import ProcessRuntime
from steersman.objects.resources import EVENTS, PODS, SERVICES
from steersman.runtime import Manager
from steersman.testing import eventually
from tests.integration.nodes.process.engine_world import LoopbackAddresses

Object = dict[str, Any]

NODE = "machine"
NAMESPACE = "default"
PATIENCE_S = 30.0


class PodWorld:
    def __init__(self, client: Client, agent: NodeAgent, runtime: ProcessRuntime) -> None:
        self.client = client
        self.agent = agent
        self.runtime = runtime

    async def create(self, name: str, *containers: Object, **spec: Any) -> Object:
        pod = {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"nodeName": NODE, "containers": list(containers), **spec},
        }
        return await self.client.create(pod, kind=PODS)

    async def pod(self, name: str) -> Object:
        return await self.client.get(PODS, name, NAMESPACE)

    async def until(self, name: str, holds: Callable[[Object], Any]) -> Object:
        async def found() -> Object | None:
            pod = await self.client.find(PODS, name, NAMESPACE)
            return pod if pod is not None and holds(pod) else None

        return await eventually(found, PATIENCE_S, what=f"pod {name}")

    async def phase(self, name: str, phase: str) -> Object:
        return await self.until(name, lambda pod: pod["status"].get("phase") == phase)

    async def delete(self, name: str, grace_s: int | None = None) -> None:
        """Delete a pod and wait until it is gone."""
        await self.client.delete(PODS, name, NAMESPACE, grace_s=grace_s)

        async def gone() -> bool:
            return await self.client.find(PODS, name, NAMESPACE) is None

        await eventually(gone, PATIENCE_S)

    async def told(self, name: str, reason: str) -> str:
        """The note of an event about a pod."""

        async def found() -> str:
            for event in await self.client.list(EVENTS, NAMESPACE):
                if event["regarding"]["name"] == name and event["reason"] == reason:
                    return str(event["note"])
            return ""

        return await eventually(found, PATIENCE_S, what=reason)


def shell(script: str, name: str = "main", **fields: Any) -> Object:
    return {"name": name, "image": "host/sh", "command": ["sh", "-c", script], **fields}


@asynccontextmanager
async def cluster() -> AsyncIterator[LocalCluster]:
    config = ClusterConfig(controllers=(), disabled_admission=("ServiceAccount",))
    async with LocalCluster(config) as cluster:
        yield cluster


@asynccontextmanager
async def process_node(
    cluster: LocalCluster, folder: Path, *, stop_pods: bool = True
) -> AsyncIterator[PodWorld]:
    """A process with the node of this folder."""
    client = cluster.client(user_agent="kubelet")
    manager = Manager(client, address=None)
    nodes = Nodes(manager, only=NODE)
    manager.add_service("nodes", nodes.run)
    made: list[ProcessRuntime] = []

    def services(parts: NodeParts) -> PodServices:
        made.append(parts.runtime)

        return pod_services(
            client,
            nodes.timers,
            nodes.start,
            folder,
            parts.config,
            runtime=parts.runtime,
            events=parts.events,
            services=manager.informers.get(SERVICES),
            image_folder=parts.images.folder,
        )

    config = ProcessNodeConfig(
        NODE, folder, "127.0.0.1", folder / "images.json", alone_s=60.0, stop_pods=lambda: stop_pods
    )
    agent = add_process_node(nodes, config, LoopbackAddresses(), services)
    async with Scope() as scope:
        running = scope.start(manager.run())
        await eventually(lambda: agent.known, PATIENCE_S)
        try:
            yield PodWorld(cluster.client(), agent, made[0])
        finally:
            manager.stop()
            await asyncio.wait((running,))
