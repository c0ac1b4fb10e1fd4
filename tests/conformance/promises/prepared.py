"""Promises about what pods find when they run: kept by programs on this machine.

One cluster with one node for all tests of a module, in a thread of its own. A program says what it found by
its termination message.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from steersman.objects.resources import CONFIG_MAPS, PODS, SECRETS
from steersman.testing import eventually
from tests.integration.nodes.process.pod_world import NAMESPACE, NODE, Object, PodWorld, cluster, process_node

__all__ = [
    "KEPT",
    "NAMESPACE",
    "PATIENCE_S",
    "Node",
    "Object",
    "config_map",
    "kept",
    "make_objects",
    "running_node",
    "secret",
    "shell",
    "volume_pod",
]

T = TypeVar("T")

#: The promises kept with programs, by name without the tags in brackets.
KEPT: set[str] = set()
PATIENCE_S = 60.0


def kept(name: str) -> str:
    """Note that a test keeps a promise."""
    assert name not in KEPT, f"{name!r} has a test already"
    KEPT.add(name)
    return name


def config_map(name: str, data: dict[str, str], **fields: Any) -> Object:
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "data": data, **fields}


def secret(name: str, data: dict[str, str], namespace: str = NAMESPACE) -> Object:
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": name, "namespace": namespace}, "data": encoded}


def shell(script: str, **fields: Any) -> Object:
    """A container that runs a script; what that prints is the container's last word."""
    command = ["sh", "-c", f"{{ {script}\n}} > /dev/termination-log"]
    return {"name": "main", "image": "host/sh", "command": command, **fields}


def volume_pod(script: str, *volumes: Object, container: Object | None = None, **spec: Any) -> Object:
    """A pod's spec: a script that finds the volumes at /v0, /v1, …"""
    mounts = [{"name": f"v{number}", "mountPath": f"/v{number}"} for number in range(len(volumes))]
    return {
        "restartPolicy": "Never",
        "containers": [shell(script, **{"volumeMounts": mounts, **(container or {})})],
        "volumes": [{"name": f"v{number}", **volume} for number, volume in enumerate(volumes)],
        **spec,
    }


class Node:
    """What tests ask of the cluster, from their own thread."""

    def __init__(self, world: PodWorld, loop: asyncio.AbstractEventLoop) -> None:
        self.world = world
        self.loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(2 * PATIENCE_S)

    async def create(self, name: str, spec: Object, **metadata: Any) -> Object:
        pod = {
            "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
            "spec": {"nodeName": NODE, "terminationGracePeriodSeconds": 1, **spec},
        }
        return await self.world.client.create(pod, kind=PODS)

    async def until(self, name: str, holds: Any) -> Object:
        async def found() -> Object | None:
            pod = await self.world.client.find(PODS, name, NAMESPACE)
            return pod if pod is not None and holds(pod) else None

        return await eventually(found, PATIENCE_S, what=f"pod {name}")

    async def said(self, name: str) -> str:
        """The last word of a pod that succeeded."""
        pod = await self.until(name, lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"))
        assert pod["status"]["phase"] == "Succeeded", pod["status"]
        message: str = pod["status"]["containerStatuses"][0]["state"]["terminated"].get("message", "")
        return message.strip()


@contextmanager
def running_node(folder: Path) -> Iterator[Node]:
    """A cluster with one node, until the block is left."""
    started: Future[Node] = Future()
    stopping = asyncio.Event()

    async def main() -> None:
        async with cluster() as api, process_node(api, folder) as world:
            started.set_result(Node(world, asyncio.get_running_loop()))
            await stopping.wait()

    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(asyncio.run, main())
        ended.add_done_callback(lambda _: started.cancel())
        node = started.result()
        try:
            yield node
        finally:
            node.loop.call_soon_threadsafe(stopping.set)
            ended.result()


async def make_objects(node: Node) -> None:
    """The ConfigMap and Secret that the public tests use, with these keys and values."""
    data = {"data-1": "value-1", "data-2": "value-2", "data-3": "value-3"}
    await node.world.client.create(config_map("cm", data), kind=CONFIG_MAPS)
    await node.world.client.create(secret("sec", data), kind=SECRETS)
