"""Informers for the metadata of every deletable resource (the dependency graph of the garbage collector).

Resources come and go with discovery. Informers that other controllers have anyway are shared; of the other
resources only metadata is kept. Owners and dependents are found in the caches themselves, by reference and by
the owner index, so there is no second graph that could differ.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from steersman.aio import first_of, wait_for_event
from steersman.client import ClientError
from steersman.cluster.controllers.discovered import DiscoveredResources, discover
from steersman.cluster.controllers.garbagecollector.items import Item
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.views.metadata import LifetimeOwner
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Cache, Cached, Change, Informer
from steersman.runtime.cache import OWNER
from steersman.runtime.changes import Handler

__all__ = ["Monitor", "MonitoredObject", "Monitors"]

_log = logging.getLogger(__name__)

#: Events are many, own nothing and are owned by nothing; they run out by themselves.
_IGNORED: Final = frozenset({("", "events"), ("events.k8s.io", "events")})
#: Changes of these mean that other resources are served.
_DEFINING: Final = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
#: Definitions come in crowds, and are served a moment after they are stored.
_SETTLE_S: Final = 0.5
#: What other API servers serve may change without a word.
_POLL_S: Final = 600.0
#: How long caches are waited for; whatever is missing from them then is asked of the API.
_SYNC_S: Final = 30.0


@dataclass(slots=True, eq=False)
class Monitor:
    """The informer of one resource."""

    informer: Informer
    handler: Handler
    #: Whether nobody else has asked for the informer.
    own: bool
    #: Whether the API takes strategic patches of it; not of custom resources.
    strategic: bool = True

    @property
    def resource(self) -> ResourceType:
        return self.informer.resource

    @property
    def cache(self) -> Cache:
        return self.informer.cache


class MonitoredObject(NamedTuple):
    """An object and the monitor whose cache it is in."""

    monitor: Monitor
    cached: Cached


class Monitors:
    """The informers of all resources that can be listed, watched and deleted. `on_change` is called for every
    change.
    """

    def __init__(self, setup: Setup, on_change: Callable[[Monitor, Change], None]) -> None:
        self._client = setup.client
        self._clock = setup.clock
        self._informers = setup.manager.informers
        self._on_change = on_change
        #: By group and plural.
        self._monitors: dict[tuple[str, str], Monitor] = {}
        self._by_name: dict[str, Monitor] = {}
        #: By apiVersion and kind: what is served, and what was.
        self._kinds: dict[tuple[str, str], ResourceType] = {}
        self._served: set[ResourceType] = set()
        self._outdated = asyncio.Event()

    # --- finding

    def named(self, name: str) -> Monitor | None:
        """The monitor of a resource, by the resource's text."""
        return self._by_name.get(name)

    def kind(self, reference: LifetimeOwner) -> ResourceType | None:
        """The resource of an owner, served now or before; None if it never was."""
        return self._kinds.get((reference.api_version, reference.kind))

    def is_served(self, resource: ResourceType) -> bool:
        return resource in self._served

    def of(self, resource: ResourceType) -> Monitor | None:
        return self._monitors.get((resource.group, resource.plural))

    def owner(self, reference: LifetimeOwner, namespace: str) -> MonitoredObject | None:
        """The owner that a dependent in `namespace` means, if the caches have it."""
        resource = self.kind(reference)
        monitor = self.of(resource) if resource is not None else None
        if monitor is None:
            return None
        cached = monitor.cache.get((namespace if monitor.resource.namespaced else "", reference.name))
        return (
            MonitoredObject(monitor, cached) if cached is not None and cached.uid == reference.uid else None
        )

    def dependents(self, uid: str) -> Iterator[MonitoredObject]:
        """Everything that names this owner."""
        for monitor in tuple(self._monitors.values()):
            for cached in monitor.cache.by_index(OWNER, uid):
                yield MonitoredObject(monitor, cached)

    def all_solid(self, item: Item, namespace: str) -> bool:
        """Whether the caches have all owners, and none waits for its dependents to go."""
        for reference in item.owner_references:
            found = self.owner(reference, namespace)
            if found is None or Item.read(found.cached).waiting:
                return False
        return True

    # --- following

    async def run(self) -> None:
        """Look at whatever there is, until cancelled."""
        try:
            while True:
                self._outdated.clear()
                try:
                    await self._update(await discover(self._client))
                except ClientError as error:
                    _log.warning("discovery failed: %s", error)
                await wait_for_event(self._outdated, self._clock, _POLL_S)
                await self._clock.sleep(_SETTLE_S)
        finally:
            for monitor in self._monitors.values():
                monitor.informer.remove_handler(monitor.handler)
            self._monitors.clear()
            self._by_name.clear()

    async def _update(self, found: DiscoveredResources) -> None:
        self._served = {served.resource for served in found.resources}
        for resource in self._served:
            self._kinds[resource.api_version, resource.kind] = resource
        wanted = {
            (resource.group, resource.plural): resource
            for resource in found.preferred("delete", "list", "watch")
            if (resource.group, resource.plural) not in _IGNORED
        }
        for place, monitor in list(self._monitors.items()):
            if wanted.get(place) != monitor.resource and monitor.resource.api_version not in found.stale:
                await self._drop(monitor)
        added = [self._monitor(wanted[place]) for place in wanted.keys() - self._monitors.keys()]
        await self._wait_settled(added)
        for monitor in added:
            self._monitors[monitor.resource.group, monitor.resource.plural] = monitor
            self._by_name[str(monitor.resource)] = monitor
        for monitor in added:
            monitor.informer.add_handler(monitor.handler)

    def _monitor(self, resource: ResourceType) -> Monitor:
        shared = self._informers.whole(resource)
        informer = shared or self._informers.get(resource, metadata_only=True)

        def handle(change: Change) -> None:
            if resource.group in _DEFINING and not change.initial:
                self._outdated.set()
            self._on_change(monitor, change)

        monitor = Monitor(informer, handle, own=shared is None)
        return monitor

    async def _drop(self, monitor: Monitor) -> None:
        resource = monitor.resource
        del self._monitors[resource.group, resource.plural]
        del self._by_name[str(resource)]
        monitor.informer.remove_handler(monitor.handler)
        for cached in monitor.cache:
            self._on_change(monitor, Change("deleted", cached.key, cached, None))
        if monitor.own:
            await self._informers.remove(monitor.informer)

    async def _wait_settled(self, monitors: list[Monitor]) -> None:
        async def settled() -> None:
            for monitor in monitors:
                await monitor.informer.wait_settled()

        await first_of(settled(), self._clock.sleep(_SYNC_S))
