"""Controller references: finding, adopting and releasing the objects that a controller owns
(ControllerRefManager).

A controller owns objects that refer to it and match its selector; orphans that match are adopted, what no
longer matches is released. Objects are found by `children`: those of one owner, and the orphans of a
namespace. `WakeOwners` maps a changed child to the objects to reconcile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from steersman.client import Client, Invalid, NotFound
from steersman.objects.errors import SelectorError
from steersman.objects.kinds import Object
from steersman.objects.kinds.types import meta_v1
from steersman.objects.kinds.views.metadata import OwnerReference, OwnershipMetadata
from steersman.objects.lifetime import is_deleting
from steersman.objects.resource_type import ResourceType
from steersman.objects.selectors import NOTHING, LabelSelector
from steersman.runtime import Cache, Cached, Change, Controller, Key, Requeue, Writes

__all__ = [
    "Claims",
    "Ownership",
    "WakeOwners",
    "children",
    "controller_reference",
    "index_by_controller",
    "orphans",
    "selector_of",
]


_INDEX: Final = "controller"


class Ownership(msgspec.Struct, frozen=True, gc=False):
    """The metadata of an object that decides its owner. Immutable."""

    metadata: OwnershipMetadata

    @staticmethod
    def read(cached: Cached) -> Ownership:
        return _read(cached)

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels or {}

    @property
    def controller(self) -> OwnerReference | None:
        return self.metadata.controller


_decode = msgspec.json.Decoder(Ownership).decode


@lru_cache(maxsize=8)
def _read(cached: Cached) -> Ownership:
    """Every controller of pods asks this of each change, one right after the other."""
    return _decode(cached.data)


def controller_reference(owner: Mapping[str, Any], kind: ResourceType) -> meta_v1.OwnerReference:
    """The owner reference of what `owner` controls."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


class _SelectorSpec(msgspec.Struct):
    selector: dict[str, Any] | None = None


class _Selecting(msgspec.Struct):
    spec: _SelectorSpec


_decode_selecting = msgspec.json.Decoder(_Selecting).decode


def selector_of(owner: Cached) -> LabelSelector:
    """What an owner selects: nothing if it says nothing, or nothing that makes sense.

    A ReplicationController has labels in the place of a selector: texts, of which a selector has none.
    """
    selector = _decode_selecting(owner.data).spec.selector
    if not selector:
        return NOTHING
    if all(isinstance(value, str) for value in selector.values()):
        return LabelSelector.from_labels(selector)
    try:
        return LabelSelector.from_object(selector)
    except SelectorError:
        return NOTHING


def index_by_controller(cache: Cache) -> None:
    """Have `children` find the objects of this cache. May be called by each of its users."""
    try:
        cache.by_index(_INDEX, "")
    except KeyError:
        cache.add_index(_INDEX, _controller_of)


def _controller_of(cached: Cached) -> tuple[str]:
    controller = Ownership.read(cached).controller
    return (controller.uid if controller is not None else f"{cached.key.namespace}/",)


def children(cache: Cache, uid: str) -> list[Cached]:
    """What the owner of this uid controls."""
    return cache.by_index(_INDEX, uid)


def orphans(cache: Cache, namespace: str) -> list[Cached]:
    """What nobody controls in a namespace."""
    return cache.by_index(_INDEX, f"{namespace}/")


class WakeOwners:
    """A mapper of a controller: the owners of one kind to reconcile when a child has changed.

    An orphan whose labels or owner changed may be adopted by any of those that select it.
    """

    def __init__(
        self, owners: Cache, kind: ResourceType, matters: Callable[[Cached, Cached], bool] | None = None
    ) -> None:
        """`matters` says whether the owner of a child that stays its child cares about a change."""
        self._owners = owners
        self._kind = kind
        self._matters = matters
        #: What owners select, by what they were read from: selectors are asked far more often than changed.
        self._selectors: dict[Key, tuple[Cached, LabelSelector]] = {}

    def __call__(self, change: Change) -> Iterable[Key]:
        keys = self._concerned(change)
        if not keys or self._matters is None or change.old is None or change.new is None or change.resync:
            return keys
        return keys if self._matters(change.old, change.new) else ()

    def _concerned(self, change: Change) -> Collection[Key]:
        new = Ownership.read(change.new) if change.new is not None else None
        if change.old is None or change.resync:
            return self._of(change.key, new) if new is not None else ()
        old = Ownership.read(change.old)
        before = old.controller
        keys = set(self._of_controller(change.key, before))
        if new is not None:
            after = new.controller
            if after is not None:
                keys.update(self._of_controller(change.key, after))
            elif before is not None or old.labels != new.labels:
                keys.update(self.selecting(change.key.namespace, new.labels))
        return keys

    def _of(self, key: Key, child: Ownership) -> Collection[Key]:
        controller = child.controller
        if controller is None:
            return self.selecting(key.namespace, child.labels)
        return self._of_controller(key, controller)

    def _of_controller(self, key: Key, reference: OwnerReference | None) -> Collection[Key]:
        if reference is None or reference.kind != self._kind.kind:
            return ()
        if reference.api_version.rpartition("/")[0] != self._kind.group:
            return ()
        return (Key(key.namespace, reference.name),)

    def selecting(self, namespace: str, labels: dict[str, str]) -> list[Key]:
        """The owners of a namespace that select these labels."""
        if not labels:
            return []
        owners = self._owners.list(namespace)
        return [owner.key for owner in owners if self._selector(owner).matches(labels)]

    def _selector(self, owner: Cached) -> LabelSelector:
        known = self._selectors.get(owner.key)
        if known is None or known[0] is not owner:
            if len(self._selectors) > 2 * len(self._owners):
                self._selectors.clear()  # of owners that are long gone
            known = self._selectors[owner.key] = owner, selector_of(owner)
        return known[1]

    def on_release(self, controller: Controller) -> Callable[[str, dict[str, str]], None]:
        """For `Claims.on_released`: who else selects a child that the controller itself let go."""

        def wake(namespace: str, labels: dict[str, str]) -> None:
            for key in self.selecting(namespace, labels):
                controller.enqueue(key, "released")

        return wake


class Claims:
    """Adopts and releases the objects of one resource for owners of one kind."""

    def __init__(
        self,
        client: Client,
        writes: Writes,
        owner_kind: ResourceType,
        resource: ResourceType,
        cache: Cache,
        *,
        finalizer: str = "",
    ) -> None:
        """`finalizer` is put on what is adopted and taken from what is released."""
        self._finalizer = finalizer
        self._client = client
        self._writes = writes
        self._owner_kind = owner_kind
        self._resource = resource
        self._cache = cache
        #: Told the namespace and labels of what became an orphan: the watch does not tell a writer of its
        #: own writes.
        self.on_released: Callable[[str, dict[str, str]], None] = lambda namespace, labels: None
        index_by_controller(cache)

    async def claim(
        self,
        owner: Mapping[str, Any],
        selector: LabelSelector,
        belongs: Callable[[Cached], bool] = lambda cached: True,
    ) -> list[Cached]:
        """What `owner` controls now. `belongs` is asked besides the selector."""
        metadata = owner["metadata"]
        deleting = "deletionTimestamp" in metadata
        claimed = []
        for cached in children(self._cache, metadata["uid"]):
            if selector.matches(Ownership.read(cached).labels) and belongs(cached):
                claimed.append(cached)
            elif not deleting:
                await self.release(owner, cached)
        found = [] if deleting else self.adoptable(metadata["namespace"], selector)
        return claimed + await self.adopt(owner, [cached for cached in found if belongs(cached)])

    def adoptable(self, namespace: str, selector: LabelSelector) -> list[Cached]:
        """The orphans that match and are not being deleted."""
        return [
            cached
            for cached in orphans(self._cache, namespace)
            if (ownership := Ownership.read(cached)).metadata.deletion_timestamp is None
            and selector.matches(ownership.labels)
        ]

    async def release(self, owner: Mapping[str, Any], cached: Cached) -> None:
        """Control an object no longer."""
        uid = owner["metadata"]["uid"]
        references = [{"$patch": "delete", "uid": uid}]
        metadata: Object = {"uid": cached.uid, "ownerReferences": references}
        if self._finalizer:
            metadata["$deleteFromPrimitiveList/finalizers"] = [self._finalizer]
        patch = {"metadata": metadata}
        try:
            await self._writes.patch(self._resource, cached.key, patch, type="strategic")
        except (NotFound, Invalid):
            return  # gone, or replaced by another of the same name
        self.on_released(cached.key.namespace, cached.labels())

    async def adopt(self, owner: Mapping[str, Any], found: Sequence[Cached]) -> list[Cached]:
        """Control these orphans; returns them as they are then."""
        if not found:
            return []
        await self._check_alive(owner)
        adopted = []
        for cached in found:
            references = [controller_reference(owner, self._owner_kind)]
            metadata: Object = {"uid": cached.uid, "ownerReferences": references}
            if self._finalizer:
                metadata["finalizers"] = [self._finalizer]
            patch = {"metadata": metadata}
            try:
                await self._writes.patch(self._resource, cached.key, patch, type="strategic")
            except NotFound:
                continue
            if (mine := self._cache.get(cached.key)) is not None:
                adopted.append(mine)
        return adopted

    async def _check_alive(self, owner: Mapping[str, Any]) -> None:
        """Ask the API itself: the cache may not know yet that the owner is being deleted."""
        metadata = owner["metadata"]
        fresh = await self._client.find(self._owner_kind, metadata["name"], metadata["namespace"])
        if fresh is None or fresh["metadata"]["uid"] != metadata["uid"]:
            raise Requeue
        if is_deleting(fresh):
            raise Requeue
