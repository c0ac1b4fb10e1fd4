"""The garbage collector: deletes objects whose owners are gone, and carries out foreground deletion and
orphaning.

| an object                                     | what is done                                             |
|-----------------------------------------------|----------------------------------------------------------|
| has an owner that is gone, or waits for it    | see `items`: kept without that owner, or deleted         |
| is being deleted with `foregroundDeletion`    | its dependents go first, then the finalizer does         |
| is being deleted with `orphan`                | its dependents lose the reference, then the finalizer    |
| is gone                                       | its dependents and waiting owners are reconciled         |

If the caches show nothing to do, nothing is requested. Before any write the API is read: the object itself,
and for every owner that the caches do not have.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Any, Final, Literal

import msgspec

from steersman.client import Invalid, NotFound, UnsupportedMedia
from steersman.cluster.controllers.garbagecollector.items import (
    FOREGROUND,
    ORPHAN,
    Item,
    Owners,
    Standing,
    decide,
    shown_within,
)
from steersman.cluster.controllers.garbagecollector.monitors import Monitor, MonitoredObject, Monitors
from steersman.cluster.controllers.pod_control import together
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.views.metadata import LifetimeOwner
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from steersman.runtime import (
    Cache,
    Change,
    Key,
    Request,
    Requeue,
    Result,
    RetryPolicy,
    TerminalError,
    Writes,
    remove_finalizer,
)
from steersman.runtime.queue_core import LOW_PRIORITY

__all__ = ["add"]

_WORKERS: Final = 20
_ONLY_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#: How many owners that are known to be gone are remembered: their other dependents come next.
_REMEMBERED: Final = 500


def add(setup: Setup) -> None:
    collector = GarbageCollector(setup)
    setup.manager.add_service("garbagecollector monitors", collector.monitors.run, leader_only=True)


class GarbageCollector:
    """Reconciles the owner references of all objects."""

    def __init__(self, setup: Setup) -> None:
        self._client = setup.client
        self._recorder = setup.recorder("garbage-collector-controller")
        self._namespaces = setup.informer(NAMESPACES).cache
        self.monitors = Monitors(setup, self._on_change)
        # Our own handlers hear of our own writes: what we delete has dependents, too.
        self._writes = Writes(
            setup.client, "garbagecollector", self._cache_of, setup.manager.check_leadership
        )
        self._absent: OrderedDict[tuple[str, LifetimeOwner], None] = OrderedDict()
        self._controller = setup.controller(
            "garbagecollector",
            retrying_conflicts(self._reconcile),
            concurrency=_WORKERS,
            retry=RetryPolicy.client_go(),
        )

    def _cache_of(self, resource: ResourceType) -> Cache | None:
        monitor = self.monitors.of(resource)
        return monitor.cache if monitor is not None else None

    # --- what to look at

    def _on_change(self, monitor: Monitor, change: Change) -> None:
        old = Item.read(change.old) if change.old is not None else None
        new = Item.read(change.new) if change.new is not None else None
        namespace = change.key.namespace
        if old is not None and (new is None or new.uid != old.uid):
            self._wake_dependents(old, namespace)
            old = None
        if new is None or (old is not None and old.life == new.life and not change.resync):
            return
        if old is not None:
            self._wake_waiting(old.freed(new), namespace)
        if new.deleting:
            looked_at = new.waiting or new.orphaning
        else:
            looked_at = not self.monitors.all_solid(new, namespace)
        if looked_at:
            self._enqueue(monitor, change.key, change.type, priority=LOW_PRIORITY if change.initial else 0)

    def _wake_dependents(self, gone: Item, namespace: str) -> None:
        """An object is gone: who depends on it, and who waits for that?"""
        for found in self.monitors.dependents(gone.uid):
            self._enqueue(found.monitor, found.cached.key, "owner is gone")
        self._wake_waiting(gone.owner_references, namespace)

    def _wake_waiting(self, references: Collection[LifetimeOwner], namespace: str) -> None:
        for reference in references:
            owner = self.monitors.owner(reference, namespace)
            if owner is not None and Item.read(owner.cached).waiting:
                self._enqueue(owner.monitor, owner.cached.key, "dependent is gone")

    def _enqueue(self, monitor: Monitor, key: Key, reason: str, *, priority: int = 0) -> None:
        self._controller.enqueue(Key(str(monitor.resource), str(key)), reason, priority=priority)

    # --- looking at one

    async def _reconcile(self, request: Request) -> Result | None:
        monitor, key = self.monitors.named(request.namespace), Key.parse(request.name)
        cached = monitor.cache.get(key) if monitor is not None else None
        if monitor is None or cached is None:
            return None
        found, item = MonitoredObject(monitor, cached), Item.read(cached)
        if item.orphaning:
            await self._orphan_dependents(found, item)
        elif item.waiting:
            await self._delete_dependents(found, item)
        elif not item.deleting and not self.monitors.all_solid(item, key.namespace):
            return await self._judge(found)
        return None

    async def _judge(self, found: MonitoredObject) -> Result | None:
        """Decide about an object by what the API says, not the caches."""
        monitor, key = found.monitor, found.cached.key
        item = await self._read(monitor.resource, key)
        if item is None or item.uid != found.cached.uid or item.deleting or not item.owner_references:
            return None
        owners, unseen = await self._classify(found, item)
        dependents = [Item.read(one.cached) for one in self.monitors.dependents(item.uid)]
        verdict = decide(item, owners, dependents)
        if verdict.release:
            await self._release(found, verdict.release)
        if verdict.unblock:
            item = await self._unblock(found, item)
        if verdict.delete is not None:
            await self._writes.delete(
                monitor.resource,
                key,
                item.uid,
                propagation=verdict.delete,
                resource_version=item.resource_version,
            )
            return None
        # Of an owner that no cache has seen, nobody would tell us that it is gone.
        return Result.requeue() if unseen else None

    async def _classify(self, found: MonitoredObject, item: Item) -> tuple[Owners, bool]:
        """The owners by standing, and whether the caches miss one that is there."""
        by_standing: dict[Standing, list[LifetimeOwner]] = {"solid": [], "waiting": [], "absent": []}
        unseen = False
        for reference in item.owner_references:
            owner = self.monitors.owner(reference, found.cached.key.namespace)
            if owner is not None:
                standing: Standing = "waiting" if Item.read(owner.cached).waiting else "solid"
            else:
                standing = await self._look_up(found, reference)
                unseen = unseen or standing != "absent"
            by_standing[standing].append(reference)
        return Owners(by_standing["solid"], by_standing["waiting"], by_standing["absent"]), unseen

    # --- owners that no cache has

    async def _look_up(self, found: MonitoredObject, reference: LifetimeOwner) -> Standing:
        resource = self.monitors.kind(reference)
        if resource is None:
            raise Requeue  # perhaps its definition has not come yet
        namespace = found.cached.key.namespace if resource.namespaced else ""
        if resource.namespaced and not namespace:
            raise TerminalError("cluster-scoped objects cannot refer to namespaced owners")
        if (namespace, reference) in self._absent:
            return "absent"
        owner = await self._find_owner(resource, Key(namespace, reference.name))
        if owner is not None and owner.uid == reference.uid:
            return "waiting" if owner.waiting else "solid"
        self._report_if_elsewhere(found, reference, resource)
        self._absent[namespace, reference] = None
        if len(self._absent) > _REMEMBERED:
            self._absent.popitem(last=False)
        return "absent"

    async def _find_owner(self, resource: ResourceType, key: Key) -> Item | None:
        """None if there is no such object; one of a resource that is not served may well be there."""
        if self.monitors.is_served(resource):
            return await self._read(resource, key)
        name = f"{resource.plural}.{resource.group}"
        if await self._client.find(CUSTOM_RESOURCE_DEFINITIONS, name) is not None:
            raise Requeue
        return None  # a definition does not go before its objects have

    async def _read(self, resource: ResourceType, key: Key) -> Item | None:
        path = resource.path(key.namespace or None, key.name)
        try:
            return Item.decode(await self._client.request("GET", path, accept=_ONLY_METADATA))
        except NotFound as error:
            if (error.details or {}).get("name"):
                return None
            raise Requeue from None  # the resource is not served, which says nothing about its objects

    def _report_if_elsewhere(
        self, found: MonitoredObject, reference: LifetimeOwner, resource: ResourceType
    ) -> None:
        """Owners live where their dependents do, or in no namespace at all."""
        monitor = self.monitors.of(resource)
        if monitor is None or not resource.namespaced:
            return
        homes = (monitor.cache.get((namespace.key.name, reference.name)) for namespace in self._namespaces)
        if not any(home is not None and home.uid == reference.uid for home in homes):
            return
        key, item = found.cached.key, found.monitor.resource
        regarding = {
            "apiVersion": item.api_version,
            "kind": item.kind,
            "metadata": {"namespace": key.namespace, "name": key.name, "uid": found.cached.uid},
        }
        note = (
            f'ownerRef {shown_within(reference, key.namespace)} does not exist in namespace "{key.namespace}"'
        )
        self._recorder.event(regarding, "Warning", "OwnerRefInvalidNamespace", note)

    # --- owners that are being deleted

    async def _delete_dependents(self, owner: MonitoredObject, item: Item) -> None:
        blocked = False
        for found in self.monitors.dependents(item.uid):
            dependent = Item.read(found.cached)
            blocked = blocked or dependent.blocks(item.uid)
            if not dependent.deleting:
                self._enqueue(found.monitor, found.cached.key, "owner waits")
        if not blocked:
            await self._finish(owner, FOREGROUND)

    async def _orphan_dependents(self, owner: MonitoredObject, item: Item) -> None:
        dependents = list(self.monitors.dependents(item.uid))
        for start in range(0, len(dependents), _WORKERS):
            piece = dependents[start : start + _WORKERS]
            failure = await together(self._release(found, (item.uid,)) for found in piece)
            if failure is not None:
                raise failure
        await self._finish(owner, ORPHAN)

    async def _finish(self, owner: MonitoredObject, finalizer: str) -> None:
        obj = {"metadata": owner.cached.metadata()}
        await remove_finalizer(self._writes, owner.monitor.resource, obj, finalizer)

    # --- changing references

    async def _release(self, found: MonitoredObject, uids: Collection[str]) -> None:
        """Have an object not refer to these owners any more."""
        monitor, cached = found
        metadata: dict[str, Any] = {"uid": cached.uid}
        if monitor.strategic:
            metadata["ownerReferences"] = [{"$patch": "delete", "uid": uid} for uid in uids]
        else:
            present = cached.metadata()
            kept = [one for one in present.get("ownerReferences") or () if one["uid"] not in uids]
            metadata |= {"ownerReferences": kept, "resourceVersion": present["resourceVersion"]}
        kind: Literal["strategic", "merge"] = "strategic" if monitor.strategic else "merge"
        try:
            await self._writes.patch(monitor.resource, cached.key, {"metadata": metadata}, type=kind)
        except UnsupportedMedia:
            monitor.strategic = False
            await self._release(found, uids)
        except (NotFound, Invalid):
            return  # gone, or replaced by another of the same name

    async def _unblock(self, found: MonitoredObject, item: Item) -> Item:
        """Have no owner wait for an object; returns the object as it is then."""
        if found.cached.version != item.resource_version:
            raise Requeue  # the cache has not seen the latest references
        references = found.cached.metadata()["ownerReferences"]
        unblocked = [
            {**one, "blockOwnerDeletion": False} if "blockOwnerDeletion" in one else one for one in references
        ]
        metadata = {"resourceVersion": item.resource_version, "ownerReferences": unblocked}
        patch = {"metadata": metadata}
        answer = await self._writes.patch(found.monitor.resource, found.cached.key, patch, type="merge")
        return msgspec.convert(answer["metadata"], Item)
