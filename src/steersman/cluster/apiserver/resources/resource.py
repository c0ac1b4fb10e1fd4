"""`Resource`: a resource in one version as the API server serves it: type, strategy, storage keys, framing.

`Catalog` is the set of resources served right now. Built-ins are there from the start; what comes later
(custom resources) is added and removed at run time, and discovery follows because it reads the same set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import orjson

from steersman.cluster.apiserver.resources.deprecation import BUILT_IN
from steersman.cluster.apiserver.resources.handling import BUILT_IN as BUILT_IN_HANDLING
from steersman.cluster.apiserver.resources.handling import Handling
from steersman.cluster.apiserver.resources.kinds import BuiltInKind, Kind
from steersman.cluster.apiserver.resources.storage_encoding import decode, encode, object_head
from steersman.cluster.apiserver.resources.strategies import Strategy, strategy_for
from steersman.cluster.apiserver.resources.version_order import version_rank
from steersman.cluster.schema.conversion import convert
from steersman.cluster.schema.decode import decode as decode_normal
from steersman.cluster.schema.resources import GVK, ResourceType
from steersman.objects.fieldsets import FieldFilter, excluding, fields_of, including
from steersman.objects.kinds import Object
from steersman.objects.schemas import Schema

if TYPE_CHECKING:
    from steersman.cluster.apiserver.resources.allocation import Reservation

__all__ = ["Allocator", "Catalog", "Conversion", "Replaced", "Resource"]


_REGISTRY_PLACES = {
    ("", "replicationcontrollers"): "controllers",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "services"): "services/specs",
    ("networking.k8s.io", "ingresses"): "ingress",
}


class Replaced(Exception):
    """Another resource is served in place of this one: what was asked is to be asked of that."""


class Conversion(Protocol):
    async def convert(self, objects: Sequence[Object], version: str) -> list[Object]:
        """The objects in a version. Raises StatusError."""

    def schema(self, version: str) -> Schema | None:
        """The shape of objects in a version; None for one that there is not (any more)."""


class Allocator(Protocol):
    """Gives each object values that no other object of the resource has, such as addresses and ports."""

    def carry_over(self, new: Object, old: Object) -> None:
        """Give an update that leaves out allocated values those the object has."""

    def reserve(self, obj: Object, old: Object | None, *, dry_run: bool = False) -> Reservation:
        """Complete an object with values that are free. Raises when it asks for what it cannot have."""

    def release(self, obj: Object) -> None:
        """The object is gone."""


class Resource:
    """One resource of one version."""

    __slots__ = (
        "_ownable",
        "allocator",
        "converts",
        "effect_warnings",
        "framed",
        "group",
        "head",
        "items_head",
        "kind",
        "list_head",
        "namespaced",
        "plural",
        "prefix",
        "stored",
        "strategy",
        "type",
        "warning",
    )

    #: How requests for it are handled: as for all built-in resources, or as for all custom ones.
    handling: Handling = BUILT_IN_HANDLING
    #: What brings objects of other versions into this one, where that takes a call to a webhook.
    conversion: Conversion | None = None
    #: Of one that another may replace: there from the moment it may be out of date until it is known not
    #: to be, set and kept once it is replaced.
    handover: asyncio.Event | None = None
    #: Going away with its objects: nothing is created any more.
    terminating: bool = False

    def __init__(
        self, resource_type: ResourceType, kind: Kind | None = None, strategy: Strategy | None = None
    ) -> None:
        self.type = resource_type
        self.group = resource_type.group
        self.plural = resource_type.plural
        self.namespaced = resource_type.namespaced
        #: The deprecation warning that every answer carries.
        self.warning = BUILT_IN.get((self.group, self.plural), "")
        #: Warnings about fields without effect (`fields_without_effect.add_warnings`).
        self.effect_warnings: Callable[[Object, Object | None], list[str]] | None = None
        self.strategy: Strategy = strategy or strategy_for(self.group, self.plural)
        self._ownable: dict[str, FieldFilter | None] = {}
        self.allocator: Allocator | None = None
        self.stored: GVK = resource_type.storage or resource_type.gvk
        #: Stored in another form than this version's: a custom resource's versions differ in name only.
        self.converts = self.stored != resource_type.gvk and kind is None
        #: Stored bytes need nothing but their head to be a whole object.
        self.framed = kind is None and not self.converts
        self.prefix = f"/{self.stored.group or 'core'}/{self.plural}/"
        self.head = object_head(resource_type.api_version, resource_type.kind)
        self.list_head = object_head(resource_type.api_version, resource_type.list_kind)
        #: What opens each item of a list: built-in kinds leave kind and apiVersion to the list.
        self.items_head = b"{" if kind is None else self.head
        self.kind: Kind = kind or BuiltInKind(resource_type)

    def key(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else self.prefix + name

    def registry_key(self, namespace: str, name: str) -> str:
        """Where kube-apiserver keeps it, which some of its messages contain."""
        place = _REGISTRY_PLACES.get((self.group, self.plural), self.plural)
        place = self.handling.registry_place(self.group, place)
        return f"/registry/{place}/{namespace}/{name}" if self.namespaced else f"/registry/{place}/{name}"

    def scope(self, namespace: str) -> str:
        """The key prefix of everything in a namespace, or everywhere."""
        return f"{self.prefix}{namespace}/" if namespace else self.prefix

    def whole(self, value: bytes) -> bytes:
        """Stored bytes as a complete object of this version."""
        if self.framed:
            return self.head + value[1:]
        if self.converts or not self.kind.is_complete(value):
            return orjson.dumps(self.read(value))
        return self.head + value[1:]

    def item(self, value: bytes) -> bytes:
        """Stored bytes as an item of a list."""
        if self.converts or not self.kind.is_complete(value):
            obj = self.read(value)
            if self.items_head == b"{":
                del obj["kind"], obj["apiVersion"]
            return orjson.dumps(obj)
        return self.items_head + value[1:]

    def read(self, value: bytes) -> Object:
        """Stored bytes as an object of this version, the caller's to change."""
        if self.converts:
            obj = self.from_stored(self.read_stored(value))
            obj["kind"], obj["apiVersion"] = self.type.kind, self.type.api_version
            return obj
        obj = decode(value, self.type.api_version, self.type.kind)
        if not self.kind.is_complete(value):
            self.kind.complete(obj)
        return obj

    def read_stored(self, value: bytes) -> Object:
        """Stored bytes as an object of the version it is stored in, where that is another."""
        return decode(value, self.stored.api_version, self.stored.kind)

    def ownable(self, subresource: str) -> FieldFilter | None:
        """What a request to this endpoint can own at all in managedFields; None: everything."""
        if subresource not in self._ownable:
            self._ownable[subresource] = _ownable(self.strategy, subresource)
        return self._ownable[subresource]

    def checked(self, obj: Object) -> Object:
        """The object in the form its kind checks."""
        return self.to_stored(obj)

    def to_stored(self, obj: Object) -> Object:
        if not self.converts:
            return obj
        own, stored = self.type, self.stored
        return convert(obj, own.group, own.version, own.kind, stored.group, stored.version)

    def round_trip(self, obj: Object) -> Object:
        """An object of this version as it comes back from the stored one: with what that adds."""
        return self.from_stored(self.to_stored(obj))

    def from_stored(self, obj: Object) -> Object:
        if not self.converts:
            return obj
        own, stored = self.type, self.stored
        return convert(obj, stored.group, stored.version, own.kind, own.group, own.version)

    def as_version_of(self, obj: Object, target: Resource) -> tuple[Object, Schema] | None:
        """An object of this version in that of another, whose objects are stored alike, and its shape; None
        where Kubernetes does not convert. Raises Unconvertible."""
        if target is self:
            return obj, self.kind.schema
        if self.group != target.group:
            # Kubernetes converts within a group only; what was owned in another one is forgotten.
            return None
        version = obj["metadata"].get("resourceVersion", "")
        # Half-pruned objects come by here too; conversion expects the fields that are always there.
        obj = decode_normal(self.type.gvk, obj).obj
        obj = target.read(encode(self.to_stored(obj)))
        # It is not part of what is stored.
        if version:
            obj["metadata"]["resourceVersion"] = version
        return obj, target.kind.schema

    async def wait_for_handover(self) -> None:
        """Returns when this is what is served, for one step of the loop; waits until that is decided.
        Raises Replaced."""
        while (handover := self.handover) is not None:
            if handover.is_set():
                raise Replaced
            await handover.wait()

    async def encoded(self, obj: Object) -> bytes:
        """The bytes to store, at once, for an object of this version. Raises Replaced."""
        return encode(self.to_stored(obj))

    def is_current(self, value: bytes) -> bool:
        """Whether stored bytes are in the version that objects are stored in now."""
        return True

    def shown(self, values: Sequence[bytes]) -> Awaitable[list[bytes]] | None:
        """Stored bytes as this version's `read`, `whole` and `item` need them. None: they are so already."""
        return None

    async def show(self, value: bytes) -> bytes:
        pending = self.shown((value,))
        return value if pending is None else (await pending)[0]


def _ownable(strategy: Strategy, subresource: str) -> FieldFilter | None:
    part = strategy.subresources.get(subresource)
    if part is not None and part.owned_fields is not None:
        return including(fields_of(*part.owned_fields))
    reset = part.reset_fields if part is not None else strategy.reset_fields
    return excluding(fields_of(*reset)) if reset else None


class Catalog:
    """The resources served now, by (group, version, plural)."""

    def __init__(self, types: Iterable[ResourceType]) -> None:
        self._resources = {(t.group, t.version, t.plural): Resource(t) for t in types}
        #: Grows with every change, so that documents made from the catalog know when they are old.
        self.generation = 0
        self._stored: dict[tuple[str, str], Resource | None] = {}

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def replace(self, old: Iterable[Resource], new: Iterable[Resource]) -> None:
        """Serve `new` in place of `old`, each group's versions in the order clients prefer them."""
        for resource in old:
            self._resources.pop((resource.group, resource.type.version, resource.plural), None)
        for resource in new:
            self._resources[(resource.group, resource.type.version, resource.plural)] = resource
        for changed in {resource.group for resource in new}:
            keys = [key for key in self._resources if key[0] == changed]
            for key in sorted(keys, key=lambda key: version_rank(key[1])):
                self._resources[key] = self._resources.pop(key)
        self.generation += 1
        self._stored.clear()

    def stored(self, group: str, plural: str) -> Resource | None:
        """The resource of a group in the version it is stored in, or any version."""
        key = (group, plural)
        if key not in self._stored:
            self._stored[key] = self._find_stored(group, plural)
        return self._stored[key]

    def _find_stored(self, group: str, plural: str) -> Resource | None:
        found = None
        for (resource_group, _, name), resource in self._resources.items():
            if resource_group == group and name == plural:
                if not resource.converts:
                    return resource
                found = resource
        return found

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())
