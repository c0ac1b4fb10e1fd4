"""The versions in which a resource is served, and converting the objects of a write to another one.

A webhook or policy that matches `apps/v1` also gets writes in another version of the same resource, converted
(matchPolicy Equivalent). A patched object is decoded again like a request body. `CatalogTypes` implements
`ResourceVersions` with the resources of the server; tests and other callers may bring their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import NamedTuple, Protocol

import orjson

from steersman.cluster.admission.chain import Attributes
from steersman.cluster.schema.conversion import convert
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK, ResourceType
from steersman.cluster.schema.resources import by_kind as built_in
from steersman.cluster.schema.shapes import schema_of
from steersman.cluster.schema.table import type_name
from steersman.objects.kinds import Object
from steersman.objects.schemas import Schema
from steersman.objects.status import internal_error

__all__ = [
    "GVR",
    "CatalogTypes",
    "ObjectConversion",
    "ResourceVersions",
    "ServedResource",
    "VersionedAttributes",
    "accepted",
    "in_version",
]


class GVR(NamedTuple):
    """Group, version and plural name of a resource."""

    group: str
    version: str
    resource: str

    @classmethod
    def of(cls, attributes: Attributes) -> GVR:
        return cls(attributes.group, attributes.version, attributes.plural)


class ServedResource(NamedTuple):
    """A resource in one version, and the kind of its objects."""

    resource: GVR
    kind: GVK


class ResourceVersions(Protocol):
    """The versions of resources and the conversion between them."""

    @property
    def generation(self) -> int:
        """Grows when the versions of any resource change."""

    def equivalents(self, resource: GVR, subresource: str) -> Sequence[ServedResource]:
        """Every version the resource is served in, itself included."""

    def convert(self, obj: Object, kind: GVK) -> Object | Awaitable[Object]:
        """The object as another kind of the same resource; the argument is left alone."""

    def accept(self, obj: Object, *, strict: bool = False) -> Object:
        """What a patch made, in normal form and with defaults. Raises DecodeError; if `strict`, also for
        fields that a built-in kind does not have."""

    def schema(self, kind: GVK) -> Schema | None:
        """The shape of a kind's objects; None when nobody serves it."""

    def resource_of(self, kind: GVK) -> ResourceType | None:
        """The resource whose objects are of this kind."""


@dataclass(frozen=True, slots=True)
class VersionedAttributes:
    """A write in the version that a webhook or policy requested."""

    resource: GVR
    kind: GVK
    object: Object | None
    old: Object | None


async def in_version(
    types: ResourceVersions, attributes: Attributes, served: ServedResource
) -> VersionedAttributes:
    """The write's objects in the version that was asked for."""
    if served.kind == attributes.gvk:
        return VersionedAttributes(served.resource, served.kind, attributes.object, attributes.old)
    objects = []
    for obj in (attributes.object, attributes.old):
        converted = types.convert(obj, served.kind) if obj is not None else None
        objects.append(await converted if isawaitable(converted) else converted)
    return VersionedAttributes(served.resource, served.kind, *objects)


def accepted(types: ResourceVersions, kind: GVK, patched: Object, *, strict: bool = False) -> Object:
    """What a patch made of an object of `kind`, read like a body and sharing nothing with it.

    Raises StatusError (500) when it is no such object any more.
    """
    patched = {"kind": kind.kind, "apiVersion": kind.api_version, **patched}
    given = GVK.of(str(patched["apiVersion"]), str(patched["kind"]))
    if given != kind:
        raise internal_error(f"a patch made {given} of an object of {kind}")
    try:
        new = types.accept(orjson.loads(orjson.dumps(patched)), strict=strict)
    except (DecodeError, orjson.JSONEncodeError) as error:
        raise internal_error(str(error)) from error
    new.setdefault("metadata", {})
    return new


class _Kind(Protocol):
    @property
    def schema(self) -> Schema: ...

    def accept(self, value: Object) -> tuple[Object, list[str]]: ...


class _Resource(Protocol):
    @property
    def type(self) -> ResourceType: ...

    @property
    def kind(self) -> _Kind: ...


class _Catalog(Protocol):
    @property
    def generation(self) -> int: ...

    def __iter__(self) -> Iterator[_Resource]: ...


class ObjectConversion(Protocol):
    """Converts custom objects from one version to another."""

    def __call__(self, obj: Object, kind: GVK) -> Object | Awaitable[Object]: ...


class CatalogTypes:
    """The versions of the resources that the server serves. Built-in kinds convert by themselves, custom
    kinds through `custom` (changing only apiVersion when there is none).
    """

    def __init__(self, catalog: _Catalog, custom: ObjectConversion | None = None) -> None:
        self._catalog = catalog
        self._custom = custom
        self._generation = -1
        self._families: dict[GVR, list[ServedResource]] = {}
        self._types: dict[GVR, ResourceType] = {}
        self._kinds: dict[GVK, _Resource] = {}

    @property
    def generation(self) -> int:
        return self._catalog.generation

    def equivalents(self, resource: GVR, subresource: str) -> Sequence[ServedResource]:
        self._refresh()
        family = self._families.get(resource, [])
        if not subresource:
            return family
        parts = []
        for served in family:
            found = self._types[served.resource].subresources.get(subresource)
            if found is not None:
                parts.append(ServedResource(served.resource, found.gvk))
        return parts

    def convert(self, obj: Object, kind: GVK) -> Object | Awaitable[Object]:
        own = GVK.of(obj["apiVersion"], obj["kind"])
        if own == kind:
            return obj
        if built_in(own) is not None:
            converted = convert(obj, own.group, own.version, own.kind, kind.group, kind.version)
            return converted | {"kind": kind.kind, "apiVersion": kind.api_version}
        if self._custom is not None:
            return self._custom(obj, kind)
        return obj | {"apiVersion": kind.api_version}

    def accept(self, obj: Object, *, strict: bool = False) -> Object:
        self._refresh()
        gvk = GVK.of(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))
        resource = self._kinds.get(gvk)
        if resource is not None:
            accepted, findings = resource.kind.accept(obj)
            if strict and findings and built_in(gvk) is not None:
                raise DecodeError(f"strict decoding error: {', '.join(findings)}")
            return accepted
        if type_name(gvk) is None:
            # Options of a connection, which have no schema.
            return obj
        # A kind that is no resource of its own: what a subresource takes.
        accepted = decode(gvk, obj).obj
        apply_defaults(*gvk, accepted)
        return {"kind": gvk.kind, "apiVersion": gvk.api_version, **accepted}

    def schema(self, kind: GVK) -> Schema | None:
        self._refresh()
        resource = self._kinds.get(kind)
        if resource is not None:
            return resource.kind.schema
        try:
            return schema_of(kind)
        except KeyError:
            return None

    def resource_of(self, kind: GVK) -> ResourceType | None:
        self._refresh()
        resource = self._kinds.get(kind)
        return None if resource is None else resource.type

    def _refresh(self) -> None:
        if self._generation == self._catalog.generation:
            return
        families: dict[tuple[str, str, str], list[ServedResource]] = {}
        self._families, self._types, self._kinds = {}, {}, {}
        for resource in self._catalog:
            kind = resource.type
            served = ServedResource(GVR(kind.group, kind.version, kind.plural), kind.gvk)
            stored = kind.storage or kind.gvk
            family = families.setdefault((stored.group, stored.kind, kind.plural), [])
            family.append(served)
            self._families[served.resource] = family
            self._kinds[kind.gvk] = resource
            self._types[served.resource] = kind
        self._generation = self._catalog.generation
