"""The WebApp example dies at random points, before or after the server has acted, and is started again.

In virtual time, in this process: a crash cuts everything between the operator and the server, so that no
farewell gets through and the lease has to run out. Kills of real processes are in `test_kills`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.cli.loading import load
from steersman.client import Client
from steersman.objects.builders import Deployment, Service
from steersman.testing import Cluster, RunningOperator, eventually, mark_ready, virtual_time

pytestmark = pytest.mark.slow

WEBAPP = load(str(Path(__file__).parents[3] / "examples" / "06-webapp" / "webapp.py")).module
WebApp: Any = WEBAPP.WebApp
FINALIZER = "webapp.example.com/finalizer"
SEEDS = range(10)
CRASHES = 10
#: Of the requests that come, one of so many next ones is fatal.
WITHIN_REQUESTS = 15
#: Ten times the lease has to run out, and waits after failures grow.
PATIENCE_S = 3600.0
LOOK_EVERY_S = 2.0


class Crashes:
    """Runs the operator, ends it at some request, runs it again."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self.count = 0

    async def run(self) -> None:
        install = True
        while True:
            operator = await self._cluster.run_operator(WEBAPP.op, install=install)
            install = False
            if self.count == CRASHES:
                return
            await self._crash(operator)
            self.count += 1

    async def _crash(self, operator: RunningOperator) -> None:
        loop, dead = asyncio.get_running_loop(), asyncio.Event()
        where: dict[str, Any] = {"skip": self._random.randrange(WITHIN_REQUESTS), "times": 1}
        if self._random.random() < 0.3:
            where["verb"] = "write"
        faults = self._cluster.faults

        def die() -> None:
            operator.kill_nowait()
            dead.set()

        if self._random.random() < 0.5:
            faults.call(die, **where)
        else:  # the server acts, and the operator dies while the answer is on its way
            faults.delay(1.0, **where)
            faults.call(lambda: loop.call_later(0.5, die), **where)
        await dead.wait()
        faults.clear()
        await operator.kill()


async def roll_out(client: Client) -> None:
    """Does for Deployments what their controller would."""
    while True:
        for deployment in await client.list(Deployment):
            seen = deployment.status.get("observedGeneration")
            if seen != deployment.metadata["generation"]:
                await mark_ready(client, Deployment, deployment.name)
        await asyncio.sleep(LOOK_EVERY_S)


async def check(client: Client, wanted: dict[str, tuple[str, int]]) -> None:
    """All that is wanted is there, once, and nothing else."""
    apps = {app.name: app for app in await client.list(WebApp)}
    deployments = {each.name: each for each in await client.list(Deployment)}
    services = {each.name: each for each in await client.list(Service) if each.name != "kubernetes"}
    assert apps.keys() == deployments.keys() == services.keys() == wanted.keys()
    for name, (image, replicas) in wanted.items():
        app, spec = apps[name], deployments[name].spec
        assert spec["replicas"] == replicas
        assert spec["template"]["spec"]["containers"][0]["image"] == image
        assert services[name].spec["selector"] == {"app": name}
        assert (app.status.phase, app.status.available_replicas) == ("Ready", replicas)
        assert app.status.observed_generation == app.metadata.generation
        for child in (deployments[name], services[name]):
            assert [owner["uid"] for owner in child.metadata["ownerReferences"]] == [app.metadata.uid]


class Story:
    """What users do to a few apps, and what must come of it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wanted: dict[str, tuple[str, int]] = {}

    async def tell(self, chapter: int) -> None:
        """Create, scale, upgrade, break, delete. Each waits until all is as it should be."""
        client = self._client
        first, second, third = (f"web-{chapter}-{number}" for number in range(3))
        for name in (first, second, third):
            await self._create(name, "nginx:1", 2)
        await self._settled()
        await client.patch(WebApp, first, {"spec": {"replicas": 5}})
        await client.patch(WebApp, second, {"spec": {"image": "nginx:2"}})
        await client.delete(Service, third)
        self._wanted[first], self._wanted[second] = ("nginx:1", 5), ("nginx:2", 2)
        await self._settled()
        for name in (first, second):
            assert (await client.get(Deployment, name)).metadata["generation"] == 2, "changed more than once"
        assert (await client.get(Deployment, third)).metadata["generation"] == 1
        for name in (first, second):
            await client.delete(WebApp, name)
            del self._wanted[name]
        await self._settled()
        assert (await client.get(WebApp, third)).metadata.finalizers == [FINALIZER]

    async def _create(self, name: str, image: str, replicas: int) -> None:
        obj = {"metadata": {"name": name}, "spec": {"image": image, "replicas": replicas}}
        await eventually(self._having(WebApp.from_object(obj)), PATIENCE_S)
        self._wanted[name] = (image, replicas)

    def _having(self, obj: Any) -> Callable[[], Awaitable[Any]]:
        # The definition may not be installed yet.
        return lambda: self._client.create(obj)

    async def _settled(self) -> None:
        """Looks less often than `eventually`: nearly all of this time is spent waiting for leases."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            try:
                return await check(self._client, self._wanted)
            except AssertionError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(LOOK_EVERY_S)


@pytest.mark.parametrize("seed", SEEDS)
@virtual_time
async def test_an_operator_that_dies_again_and_again_gets_there(seed: int) -> None:
    async with Cluster() as cluster, Scope() as scope:
        client = cluster.client()
        crashes = Crashes(cluster, seed)
        scope.start(crashes.run())
        scope.start(roll_out(client))
        story, chapter = Story(client), 0
        while crashes.count < CRASHES or chapter == 0:
            await story.tell(chapter)
            chapter += 1
