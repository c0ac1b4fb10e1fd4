"""Nodes that live: an object, a lease, and whoever renews it until told to stop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from steersman.client import NotFound
from steersman.objects.resources import LEASES, NODES
from steersman.objects.times import format_micro_time, format_time
from tests.integration.controllers.workloads import World
from tests.sim.virtual_time import VirtualClock

Object = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
PERIOD_S = 10.0


class LivingNodes:
    """Nodes with heartbeats; those in `silent` have none."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._clock = VirtualClock()
        self.names: list[str] = []
        self.silent: set[str] = set()

    async def add(self, *names: str, ready: str = "True", **labels: str) -> None:
        for name in names:
            await self._world.create(NODES, {"metadata": {"name": name, "labels": labels}})
            await self.report(name, ready)
            lease = {
                "metadata": {"name": name, "namespace": LEASE_NAMESPACE},
                "spec": {"holderIdentity": name, "renewTime": self._now()},
            }
            await self._world.client.create(lease, kind=LEASES)
            self.names.append(name)

    async def report(self, name: str, ready: str, **conditions: str) -> None:
        """What a node says of itself."""
        now = format_time(datetime.fromtimestamp(self._clock.wall(), UTC))
        told = [
            {"type": kind, "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now}
            for kind, status in {"Ready": ready, **conditions}.items()
        ]
        status = {"status": {"conditions": told}}
        await self._world.client.patch(NODES, name, status, type="strategic", subresource="status")

    async def live(self) -> None:
        """Renew leases until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_S)
            for name in [name for name in self.names if name not in self.silent]:
                renewal = {"spec": {"renewTime": self._now()}}
                with suppress(NotFound):
                    await self._world.client.patch(LEASES, name, renewal, LEASE_NAMESPACE)

    def _now(self) -> str:
        return format_micro_time(datetime.fromtimestamp(self._clock.wall(), UTC))


def taints_of(node: Object) -> set[str]:
    """Taints as `key:effect`, without the usual prefix."""
    return {
        f"{taint['key'].removeprefix('node.kubernetes.io/')}:{taint['effect']}"
        for taint in node["spec"].get("taints") or ()
    }


def ready_of(obj: Object) -> Object:
    [condition] = [one for one in obj["status"]["conditions"] if one["type"] == "Ready"]
    return condition
