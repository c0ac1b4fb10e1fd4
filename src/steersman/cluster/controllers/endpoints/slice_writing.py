"""Reading and writing the EndpointSlices of one controller, found by the label
endpointslice.kubernetes.io/managed-by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, cast

from steersman.client import ApiError
from steersman.cluster.controllers.endpoints.slices import MANAGED_BY, SERVICE_NAME, SlicePlan
from steersman.cluster.controllers.pod_control import namespace_is_terminating
from steersman.objects.kinds.types.discovery_v1 import EndpointSlice
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import ENDPOINT_SLICES
from steersman.runtime import Cache, Cached, Change, Key, Writes

__all__ = ["ManagedSlices"]


_INDEX: Final = "service"


class ManagedSlices:
    """The EndpointSlices that one controller manages."""

    def __init__(self, cache: Cache, manager: str, writes: Writes) -> None:
        self._cache = cache
        self._manager = manager
        self._writes = writes
        try:
            cache.by_index(_INDEX, "")
        except KeyError:
            cache.add_index(_INDEX, _services_of)

    def of(self, key: Key) -> list[EndpointSlice]:
        """The slices of a service that nobody deletes already."""
        found = [cast("EndpointSlice", cached.object()) for cached in self._cache.by_index(_INDEX, str(key))]
        return [
            one
            for one in found
            if one["metadata"]["labels"].get(MANAGED_BY) == self._manager and not is_deleting(one)
        ]

    def on_slice(self, change: Change) -> Iterable[Key]:
        """The services whose slices somebody else has changed."""
        if change.initial:
            return ()
        seen = [cached for cached in (change.old, change.new) if cached is not None]
        if not any(cached.labels().get(MANAGED_BY) == self._manager for cached in seen):
            return ()
        return {Key.parse(name) for cached in seen for name in _services_of(cached)}

    async def write(self, plan: SlicePlan, *, may_create: bool = True) -> None:
        """Do what is planned. What could not be done is raised when all the rest is."""
        updates = [self._writes.replace(ENDPOINT_SLICES, one) for one in plan.update]
        creates = [self._create(one) for one in plan.create] if may_create else []
        deletes = [
            self._writes.delete(ENDPOINT_SLICES, Key.of(one), one["metadata"]["uid"], propagation=None)
            for one in plan.delete
        ]
        done = await asyncio.gather(*updates, *creates, *deletes, return_exceptions=True)
        for error in done:
            if isinstance(error, BaseException):
                raise error

    async def _create(self, new: EndpointSlice) -> None:
        try:
            await self._writes.create(ENDPOINT_SLICES, new)
        except ApiError as error:
            if not namespace_is_terminating(error):
                raise


def _services_of(cached: Cached) -> tuple[str, ...]:
    service = cached.labels().get(SERVICE_NAME)
    return (str(Key(cached.key.namespace, service)),) if service else ()
