"""A cluster with some controllers and with nodes that are played, in virtual time.

    @with_workloads("replicaset", "deployment")
    async def test_x(world: World) -> None: …

`Nodes` does what kubelets would: pods are bound, become ready, and go when they are deleted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from steersman.aio import Scope
from steersman.client import Client, Conflict, NotFound
from steersman.cluster.controllers.registry import add_controllers
from steersman.cluster.controllers.setup import Options, Setup
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import EVENTS, NODES, PODS
from steersman.objects.times import format_time
from steersman.runtime import Controller, Manager, Request
from steersman.testing.waiting import eventually
from tests.sim.virtual_time import VirtualClock, run_virtual

Object = dict[str, Any]
Test = Callable[["World"], Awaitable[None]]

NAMESPACE = "default"
#: Virtual seconds: longer than anything takes that happens at all.
PATIENCE_S = 120.0


class Nodes:
    """Kubelets and a scheduler, as far as controllers can tell."""

    def __init__(self, client: Client, manager: Manager) -> None:
        self._client = client
        self._clock = manager.clock
        self._pods = manager.informers.get(PODS)
        #: Which pods get a node, become ready, and may go.
        self.bound: Callable[[Object], bool] = lambda pod: True
        self.ready: Callable[[Object], bool] = lambda pod: True
        self.let_go: Callable[[Object], bool] = lambda pod: True
        self.controller = Controller("nodes", self._reconcile, clock=manager.clock)
        manager.add(self.controller.primary(self._pods))

    def look_again(self) -> None:
        """After `ready` or `let_go` were changed."""
        for cached in self._pods.cache:
            self.controller.enqueue(cached.key, "told")

    async def _reconcile(self, request: Request) -> None:
        cached = self._pods.cache.get(request.key)
        if cached is None:
            return
        pod = cached.object()
        with suppress(NotFound, Conflict):
            await self._run(pod)

    async def _run(self, pod: Object) -> None:
        metadata = pod["metadata"]
        if "deletionTimestamp" in metadata:
            if self.let_go(pod):
                await self._client.delete(PODS, metadata["name"], metadata["namespace"], grace_s=0)
            return
        if not pod["spec"].get("nodeName"):
            if self.bound(pod):
                await self._bind(pod)
            return
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            return
        ready = "True" if self.ready(pod) else "False"
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": self._now()}
        old = pod["status"].get("conditions") or []
        if any(one["type"] == "Ready" and one["status"] == ready for one in old):
            return
        started = pod["status"].get("startTime") or self._now()
        status = {"phase": "Running", "conditions": [condition], "startTime": started}
        await self._client.patch(
            PODS, metadata["name"], {"status": status}, metadata["namespace"], subresource="status"
        )

    async def _bind(self, pod: Object) -> None:
        affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
        terms = required.get("nodeSelectorTerms", [{}])
        fields = terms[0].get("matchFields", [{"values": ["node-1"]}])
        binding = {
            "metadata": {"name": pod["metadata"]["name"]},
            "target": {"kind": "Node", "name": fields[0]["values"][0]},
        }
        path = PODS.path(pod["metadata"]["namespace"], pod["metadata"]["name"], "binding")
        await self._client.request("POST", path, body=binding)

    def _now(self) -> str:
        return format_time(datetime.fromtimestamp(self._clock.wall(), UTC))


class World:
    """What a test works with."""

    def __init__(
        self, cluster: LocalCluster, controllers: Collection[str], options: Options | None = None
    ) -> None:
        self.cluster = cluster
        self._controllers = controllers
        self._options = options or Options()
        #: By the controllers and nodes, by method.
        self.writes: Counter[str] = Counter()
        #: Called after each of them.
        self.on_write: Callable[[], None] = lambda: None
        self.client = cluster.client()
        self.manager: Manager
        self.nodes: Nodes

    async def run(self) -> None:
        """The controllers and nodes, as a new process would run them, until stopped or cancelled."""
        client = self.cluster.client(observe=self._observe)
        self.manager = Manager(client, clock=VirtualClock(), address=None)
        add_controllers(Setup(self.manager, self._options), self._controllers)
        self.nodes = Nodes(client, self.manager)
        await self.manager.run()

    def _observe(self, method: str, *_: Any) -> None:
        if method != "GET":
            self.writes[method] += 1
            self.on_write()

    async def create(self, resource: ResourceType, obj: Object) -> Object:
        return await self.client.create(obj, kind=resource)

    async def get(self, resource: ResourceType, name: str) -> Object:
        return await self.client.get(resource, name, NAMESPACE)

    async def patch(self, resource: ResourceType, name: str, **spec: Any) -> Object:
        return await self.client.patch(resource, name, {"spec": spec}, NAMESPACE)

    async def add_nodes(self, *names: str, **labels: str) -> None:
        for name in names:
            await self.create(NODES, {"metadata": {"name": name, "labels": labels}})
            await self.client.patch(NODES, name, {"spec": {"taints": None}})  # it is ready

    async def names(self, resource: ResourceType, labels: str = "") -> list[str]:
        listed = await self.client.list(resource, NAMESPACE, labels=labels)
        return sorted(obj["metadata"]["name"] for obj in listed)

    async def pods(self, labels: str = "") -> list[Object]:
        listed = await self.client.list(PODS, NAMESPACE, labels=labels)
        return sorted(listed, key=lambda pod: pod["metadata"]["name"])

    async def set_pod(self, name: str, **status: Any) -> None:
        await self.client.patch(PODS, name, {"status": status}, NAMESPACE, subresource="status")

    async def until(self, holds: Callable[[], Any], timeout_s: float = PATIENCE_S) -> Any:
        return await eventually(holds, timeout_s)

    async def until_status(self, resource: ResourceType, name: str, **fields: Any) -> Object:
        """The object as soon as its status has these fields; 0 and None mean that one is not there."""

        async def holds() -> Object | None:
            obj = await self.get(resource, name)
            status = obj.get("status") or {}
            met = all((status.get(key) or None) == (value or None) for key, value in fields.items())
            return obj if met else None

        try:
            found: Object = await eventually(holds, PATIENCE_S)
        except AssertionError:
            raise AssertionError((await self.get(resource, name)).get("status")) from None
        return found

    async def events(self, kind: str) -> list[tuple[str, str]]:
        """(reason, note) of what happened to objects of a kind, in order."""
        await asyncio.sleep(1)
        listed = await self.client.list(EVENTS, NAMESPACE)
        told = [event for event in listed if event["regarding"]["kind"] == kind]
        told.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [(event["reason"], event["note"]) for event in told]

    async def quiet(self, seconds: float = 5.0) -> None:
        """Nobody writes anything for a while."""
        await asyncio.sleep(seconds)
        before = self.writes.copy()
        await asyncio.sleep(seconds)
        assert self.writes == before


def with_workloads(*controllers: str, options: Options | None = None) -> Callable[[Test], Callable[[], None]]:
    """Make a test of an async function that takes a world."""

    def decorate(test: Test) -> Callable[[], None]:
        def run() -> None:
            run_virtual(_run(test, controllers, options))

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


async def _run(test: Test, controllers: Collection[str], options: Options | None) -> None:
    async with LocalCluster(ClusterConfig(controllers=("resourcequota",)), VirtualClock()) as cluster:
        world = World(cluster, controllers, options)
        async with Scope() as scope:
            running = scope.start(world.run())
            await test(world)
            running.cancel()


def dying(
    controllers: Collection[str], writes: int, acts: Callable[[World], list[Awaitable[Any]]], settled: Test
) -> None:
    """Do things one after the other, with controllers that die after so many writes each time; the last
    ones live, and `settled` says whether all is well in the end."""
    run_virtual(_dying(controllers, writes, acts, settled))


async def _dying(
    controllers: Collection[str], writes: int, acts: Callable[[World], list[Awaitable[Any]]], settled: Test
) -> None:
    async with LocalCluster(ClusterConfig(controllers=()), VirtualClock()) as cluster:
        world = World(cluster, controllers)
        async with Scope() as scope:
            for act in acts(world):
                life = scope.start(world.run())
                world.on_write = _countdown(writes, life.cancel)
                await asyncio.sleep(0.1)
                await act
                await asyncio.sleep(1)
                life.cancel()
            scope.start(world.run())
            world.on_write = lambda: None
            await settled(world)
            scope.cancel()


def _countdown(left: int, then: Callable[[], object]) -> Callable[[], None]:
    def count() -> None:
        nonlocal left
        left -= 1
        if not left:
            then()

    return count
