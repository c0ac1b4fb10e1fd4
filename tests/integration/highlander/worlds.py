"""A cluster with simulated nodes in virtual time, controllers that can die, and a witness who counts copies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from steersman.aio import Scope
from steersman.client import Client, ClientError
from steersman.highlander.config import TenantConfig
from steersman.highlander.custom import CustomWorkloads
from steersman.highlander.live import LiveObjects
from steersman.highlander.tenant import Tenant
from steersman.highlander.workloads.copies import is_living
from steersman.highlander.workloads.ownership import MANAGED, epoch_of, key_of
from steersman.objects.resources import PODS
from steersman.testing import Cluster, VirtualClock, eventually
from steersman.testing.faults import Faults
from steersman.testing.faulty import FaultyTransport

__all__ = ["Controller", "Witness", "World", "config", "world"]

Object = dict[str, Any]

TIMES = {"leaseDuration": 3, "renewDeadline": 2, "retryPeriod": 0.5, "stepDownPause": 5, "failbackAfter": 10}


def config(name: str = "a", **fields: Any) -> TenantConfig:
    """A tenant with a process, unless other workloads are given."""
    workloads = {"processes": [process()]}
    given = {"id": name, "tenant": "shop", "storageType": "lease", "election": TIMES, "workloads": workloads}
    return TenantConfig.model_validate({**given, **fields})


def process(name: str = "beat", **fields: Any) -> Object:
    return {"name": name, "image": "image", **fields}


class Controller:
    """One process' part: a tenant, its client and caches. `die` is what kill -9 would be."""

    def __init__(self, cluster: Cluster, given: TenantConfig, scope: Scope, wall_shift_s: float) -> None:
        self.faults = Faults()
        self.client: Client = cluster.client()
        self.client.carry(lambda transport: FaultyTransport(transport, self.faults))
        clock = VirtualClock()
        clock.wall_shift_s = wall_shift_s
        self.live = LiveObjects(
            self.client, clock, None if given.follows_custom_resources else {given.namespace}
        )
        self.tenant = Tenant(given, self.client, self.live, clock=clock)
        self._tasks = [scope.start(self.live.run()), scope.start(self.tenant.run())]
        if given.follows_custom_resources:
            custom = CustomWorkloads(self.tenant, self.client, self.live, clock)
            self._tasks.append(scope.start(custom.run()))

    @property
    def leads(self) -> bool:
        return self.tenant.board.controller.is_leader

    @property
    def owner(self) -> str:
        return self.tenant.board.controller.owner

    def phase(self, workload: str = "process/default/beat") -> str:
        found = self.tenant.board.workloads.get(workload)
        return str(found.phase) if found is not None else ""

    async def stop(self) -> None:
        """In order."""
        self.tenant.stop()
        await asyncio.wait(self._tasks[1:2])
        for task in self._tasks:
            task.cancel()

    async def die(self) -> None:
        """Nothing more is sent."""
        self.faults.lose_requests()
        self.faults.drop_watches()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)


class Witness:
    """Sees every state of every pod, and remembers each moment with more than one living copy."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pods: dict[str, Object] = {}
        self.violations: list[str] = []
        self.epochs: dict[str, list[int]] = {}
        """By workload, the epoch of every copy that was started, in that order."""
        self._started: set[str] = set()

    async def run(self) -> None:
        while True:
            with suppress(ClientError):
                async with self._client.watch(PODS, labels=MANAGED, initial_events=True) as events:
                    async for event in events:
                        if event.type in ("ADDED", "MODIFIED", "DELETED"):
                            self._see(event.type, event.decode())

    def copies(self, workload: str) -> list[Object]:
        return [pod for pod in self._pods.values() if _workload(pod) == workload and _runs(pod)]

    def _see(self, kind: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            self._pods.pop(uid, None)
            return
        self._pods[uid] = pod
        workload = _workload(pod)
        if _runs(pod) and uid not in self._started:
            self._started.add(uid)
            self.epochs.setdefault(workload, []).append(epoch_of(pod))
        copies = self.copies(workload)
        if len(copies) > 1:
            names = ", ".join(f"{each['metadata']['name']} of epoch {epoch_of(each)}" for each in copies)
            self.violations.append(f"{workload}: {names}")


def _workload(pod: Object) -> str:
    found = key_of(pod["metadata"]["namespace"], pod["metadata"]["labels"])
    return str(found[1]) if found else ""


def _runs(pod: Object) -> bool:
    """Whether a process of it may exist: from when its node has it until that node says that it is over."""
    return bool((pod.get("status") or {}).get("startTime")) and is_living(pod)


class World:
    def __init__(self, cluster: Cluster, scope: Scope) -> None:
        self.cluster = cluster
        self.client = cluster.client()
        self.witness = Witness(cluster.client())
        self._scope = scope
        scope.start(self.witness.run())

    def start(self, given: TenantConfig, *, wall_shift_s: float = 0.0) -> Controller:
        return Controller(self.cluster, given, self._scope, wall_shift_s)

    async def pass_time(self, seconds: float) -> None:
        await self.cluster.clock.advance(seconds)

    async def running(self, controller: Controller, workload: str = "process/default/beat") -> None:
        """Until this controller leads and the workload, of its own epoch, is ready."""

        def is_ready() -> bool:
            board = controller.tenant.board
            found = board.workloads.get(workload)
            return (
                found is not None
                and board.controller.is_leader
                and found.ready
                and found.epoch == board.controller.epoch
            )

        await eventually(is_ready, 120, what=f"{workload} is ready")

    async def pod(self, name: str = "beat-pod") -> Object | None:
        return await self.client.find(PODS, name)

    def one(self, controllers: list[Controller]) -> Iterator[Controller]:
        return (each for each in controllers if each.leads)


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Checks at its end that there never were two copies, and that epochs only grew."""
    async with Cluster(controllers=("all",), nodes=2) as cluster, Scope() as scope:
        made = World(cluster, scope)
        yield made
        await made.pass_time(1)
        assert not made.witness.violations
        for epochs in made.witness.epochs.values():
            assert epochs == sorted(epochs)
