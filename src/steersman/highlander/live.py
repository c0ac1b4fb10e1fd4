"""The live objects of one Kubernetes cluster that Highlander has made: caches, and who is to hear of changes.

One set serves all tenants of a process that use the same cluster. It reads; nothing here writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from steersman.aio import Clock, Scope
from steersman.client import Client
from steersman.highlander.workloads.ownership import MANAGED, MANAGER, WorkloadKey, key_of, label_value
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, JOBS, PODS, SERVICES, STATEFUL_SETS
from steersman.runtime import Cache, Cached, Change, Informers

__all__ = ["RESOURCES", "LiveObjects"]

Objects = list[Object]

#: What workloads are made of, directly or not.
RESOURCES: Final = (PODS, JOBS, CRON_JOBS, DEPLOYMENTS, STATEFUL_SETS, SERVICES)

_WORKLOAD = "workload"
_TENANT = "tenant"


class LiveObjects:
    """Everything with our label in some namespaces (None: in all)."""

    def __init__(self, client: Client, clock: Clock, namespaces: Collection[str] | None) -> None:
        self.client = client
        self.informers = Informers(client, clock, keep_managed_fields_of=(MANAGER,))
        self._namespaces = None if namespaces is None else frozenset(namespaces)
        self._listeners: dict[str, Callable[[WorkloadKey], None]] = {}
        self._informers = {
            resource: self.informers.get(resource, namespace=self._namespaces, labels=MANAGED)
            for resource in RESOURCES
        }
        for informer in self._informers.values():
            informer.cache.add_index(_WORKLOAD, _by_workload)
            informer.cache.add_index(_TENANT, _by_tenant)
            informer.add_handler(self._changed)

    async def run(self) -> None:
        await self.informers.run()

    async def refresh(self) -> None:
        """Until everything is as the API had it when this was called, or later."""
        async with Scope() as scope:
            for informer in self._informers.values():
                scope.start(informer.refresh(), name=f"refreshing {informer}")
            await scope.join()

    @property
    def synced(self) -> bool:
        return all(informer.synced for informer in self._informers.values())

    def add_namespaces(self, namespaces: Collection[str]) -> None:
        """Watch these namespaces as well."""
        if self._namespaces is not None and not self._namespaces.issuperset(namespaces):
            self._namespaces = self._namespaces.union(namespaces)
            for informer in self._informers.values():
                informer.watch_namespaces(self._namespaces)

    def remove_namespaces(self, namespaces: Collection[str]) -> None:
        """Stop watching these namespaces."""
        if self._namespaces is not None and not self._namespaces.isdisjoint(namespaces):
            self._namespaces = self._namespaces.difference(namespaces)
            for informer in self._informers.values():
                informer.watch_namespaces(self._namespaces)

    def listen(self, tenant: str, listener: Callable[[WorkloadKey], None]) -> Callable[[], None]:
        """Tell of every workload of a tenant of which something changed, until what is returned is called."""
        name = label_value(tenant)
        self._listeners[name] = listener

        def end() -> None:
            self._listeners.pop(name, None)

        return end

    def cache(self, resource: ResourceType) -> Cache | None:
        informer = self._informers.get(resource)
        return None if informer is None else informer.cache

    def of_workload(self, resource: ResourceType, tenant: str, key: WorkloadKey) -> Objects:
        cache = self._informers[resource].cache
        return [each.object() for each in cache.by_index(_WORKLOAD, _spelled(label_value(tenant), key))]

    def of_tenant(self, resource: ResourceType, tenant: str) -> Objects:
        return [
            each.object() for each in self._informers[resource].cache.by_index(_TENANT, label_value(tenant))
        ]

    def _changed(self, change: Change) -> None:
        for state in (change.old, change.new):
            found = None if state is None else key_of(state.namespace, state.labels())
            if found is not None and (listener := self._listeners.get(found[0])) is not None:
                listener(found[1])


def _by_workload(cached: Cached) -> list[str]:
    found = key_of(cached.namespace, cached.labels())
    return [_spelled(*found)] if found is not None else []


def _by_tenant(cached: Cached) -> list[str]:
    tenant = _tenant(cached.labels())
    return [tenant] if tenant is not None else []


def _tenant(labels: Mapping[str, str]) -> str | None:
    return labels.get("tenant")


def _spelled(tenant: str, key: WorkloadKey) -> str:
    return f"{tenant} {key}"
