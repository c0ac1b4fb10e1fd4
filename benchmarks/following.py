"""Waiting for objects to be as they should be, by watching them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from steersman.client import Client
from steersman.objects.conditions import condition_is
from steersman.objects.resource_type import ResourceType

__all__ = ["Following", "is_available", "is_ready"]

Object = dict[str, Any]

_LIMIT_S = 600.0


@dataclass(slots=True)
class Following:
    """Counts the objects of a resource that are as they should be, by watching them."""

    client: Client
    resource: ResourceType
    holds: Callable[[Object], bool]
    good: set[str] = field(default_factory=set)

    async def until(self, count: int, begin: Callable[[], Awaitable[None]] | None = None) -> int:
        """How many there are when there are `count`, or when that has taken too long."""
        try:
            async with asyncio.timeout(_LIMIT_S):
                await self._follow(count, begin)
        except TimeoutError:
            pass
        return len(self.good)

    async def _follow(self, count: int, begin: Callable[[], Awaitable[None]] | None) -> None:
        listed = await self.client.list(self.resource)
        for item in listed:
            self._see(item)
        beginning = asyncio.ensure_future(begin()) if begin is not None else None
        version = listed.resource_version
        async with self.client.watch(self.resource, resource_version=version) as events:
            while len(self.good) < count:
                event = await anext(events)
                if event.type in ("ADDED", "MODIFIED"):
                    self._see(event.decode())
        if beginning is not None:
            await beginning

    def _see(self, item: Object) -> None:
        name = item["metadata"]["name"]
        (self.good.add if self.holds(item) else self.good.discard)(name)


def is_ready(item: Object) -> bool:
    return condition_is(item["status"].get("conditions"), "Ready", "True")


def is_available(deployment: Object) -> bool:
    wanted: bool = deployment["status"].get("readyReplicas") == deployment["spec"]["replicas"]
    return wanted
