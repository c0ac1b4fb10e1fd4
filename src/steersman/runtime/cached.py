"""Objects as caches keep them: their bytes and the little that is asked for all the time.

`Intake` makes a `Cached` of what the API sent, one decoding of the metadata each, and reduces it:
managedFields are a third of many objects and nobody but their manager reads them; apiVersion and kind are
the same in all objects of a resource, so their class has them. The rest of an object is decoded when somebody
looks at it, anew each time, so a reader may change what it got.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

import msgspec
import orjson

from steersman.objects.kinds.views.metadata import FieldManager, IdentityMetadata, RelationMetadata
from steersman.objects.resource_type import ResourceType, Typed
from steersman.runtime.keys import Key

__all__ = ["OPAQUE", "Cached", "Intake", "number"]

T = TypeVar("T", bound=Typed)

#: Finds an object that is cached.
Known = Callable[[tuple[str, str]], "Cached | None"]

#: The `resource_version` of objects whose version is no number: nothing is known about their order.
OPAQUE = 0


class Cached(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One object of a cache. Immutable: a change of the object is another `Cached`."""

    head: ClassVar[bytes] = b"{"
    """How the object's JSON begins, in the place of the first brace of `data`."""

    namespace: str
    name: str
    resource_version: int
    data: bytes
    """The object's JSON with managedFields reduced; without apiVersion and kind, if the head has them."""

    @property
    def key(self) -> Key:
        """Made when asked for: kept, it would take as much room as all the rest but the bytes."""
        return Key(self.namespace, self.name)

    def object(self) -> dict[str, Any]:
        """The whole object: a fresh one each time, the caller's own."""
        decoded: dict[str, Any] = orjson.loads(self.head + self.data[1:])
        return decoded

    def as_type(self, kind: type[T]) -> T:
        """The object as an instance of its class."""
        return kind.from_object(self.object())

    def metadata(self) -> dict[str, Any]:
        """The object's metadata, without decoding the rest."""
        return _decode_metadata(self.data).metadata

    def labels(self) -> dict[str, str]:
        return _decode_details(self.data).metadata.labels or {}

    def owner_uids(self) -> list[str]:
        """Who owns the object, in the order of its owner references."""
        return [owner.uid for owner in _decode_details(self.data).metadata.owner_references or ()]

    @property
    def uid(self) -> str:
        """Read from the bytes: seldom asked for, and not worth the room in every object."""
        return _decode_head(self.data).metadata.uid

    @property
    def version(self) -> str:
        """The resourceVersion as the API gave it."""
        number = self.resource_version
        return str(number) if number != OPAQUE else _decode_head(self.data).metadata.resource_version

    def same_version(self, other: Cached) -> bool:
        """Whether both are one state of one object."""
        if self is other:
            return True
        if self.resource_version != other.resource_version or self.uid != other.uid:
            return False
        return self.resource_version != OPAQUE or self.version == other.version

    def older_than(self, other: Cached) -> bool:
        """Whether it is known to come before `other`, a state of the object with the same name."""
        return OPAQUE < self.resource_version < other.resource_version

    def __repr__(self) -> str:
        return f"Cached({self.key}, {self.resource_version})"


class Intake:
    """Makes `Cached` objects of one resource from what the API sends."""

    __slots__ = ("_heads", "_kept_managers", "_made", "_may_keep", "_metadata_only", "_resource")

    def __init__(
        self, resource: ResourceType, *, kept_managers: Collection[str] = (), metadata_only: bool = False
    ) -> None:
        """`kept_managers` names the field managers whose managedFields are kept."""
        self._resource = resource
        self._made = _kept_class(resource)
        self._heads = (self._made.head, _head(apiVersion=resource.api_version, kind=resource.kind))
        self._kept_managers = frozenset(kept_managers)
        self._may_keep = _mentions(self._kept_managers)
        self._metadata_only = metadata_only

    def read(self, data: bytes, known: Known | None = None) -> Cached:
        """Raises `msgspec.DecodeError` for what is no object.

        A state that `known` has is not made again: most of what a watch brings an operator are its own
        writes, which it has seen.
        """
        head = _decode_head(data)
        metadata = head.metadata
        # A namespace is shared by many objects, so it is kept once.
        namespace, name = sys.intern(metadata.namespace), metadata.name
        version = number(metadata.resource_version)
        old = None if known is None else known((namespace, name))
        if old is not None and _is_state(old, version, metadata.uid):
            return old
        if self._metadata_only and head.kind != self._resource.kind:
            # PartialObjectMetadata is how it came, not what it is.
            data = self._as_metadata(data)
        managed = bytes(metadata.managed_fields)
        if managed and managed != b"null":
            data = self._with_fewer_managers(data, managed)
        return self._made(namespace, name, version, self._without_head(data))

    def read_object(self, obj: Mapping[str, Any], old: Cached | None = None) -> Cached:
        """The same from a decoded object, such as the answer to a write; `old` is what has its name."""
        metadata = obj["metadata"]
        namespace, name = sys.intern(metadata.get("namespace") or ""), metadata["name"]
        version = number(metadata.get("resourceVersion") or "")
        if old is not None and _is_state(old, version, metadata.get("uid", "")):
            return old
        if "managedFields" in metadata:
            metadata = dict(metadata)
            entries = metadata.pop("managedFields") or ()
            if kept := [entry for entry in entries if entry.get("manager") in self._kept_managers]:
                metadata["managedFields"] = kept
        rest = {} if self._metadata_only else {key: obj[key] for key in obj if key not in _TYPE}
        return self._made(namespace, name, version, orjson.dumps({**rest, "metadata": metadata}))

    def _as_metadata(self, data: bytes) -> bytes:
        return orjson.dumps({"metadata": _decode_metadata(data).metadata})

    def _without_head(self, data: bytes) -> bytes:
        """Of two spellings; what is spelled otherwise stays, and comes after the head it repeats."""
        for head in self._heads:
            if data.startswith(head):
                return b"{" + data[len(head) :]
        return data.lstrip()

    def _with_fewer_managers(self, data: bytes, managed: bytes) -> bytes:
        """The bytes with only the kept manager's managedFields; the rest stays as it came."""
        kept = self._kept(managed)
        if kept == managed[1:-1]:
            return data
        field = b'"managedFields":' + managed
        start = data.find(field)
        end = start + len(field)
        if start > 0 and kept:
            return b'%b"managedFields":[%b]%b' % (data[:start], kept, data[end:])
        if start > 0 and data.startswith(b",", start - 1):
            return data[: start - 1] + data[end:]
        if start > 0 and data.startswith(b",", end):
            return data[:start] + data[end + 1 :]
        # White space, or metadata of nothing else: rare enough for the long way.
        obj = orjson.loads(data)
        obj["metadata"]["managedFields"] = orjson.loads(b"[%b]" % kept)
        return orjson.dumps(obj)

    def _kept(self, managed: bytes) -> bytes:
        """The kept managers' entries, joined."""
        if not self._may_keep(managed):
            return b""
        entries = _decode_entries(managed)
        return b",".join(
            bytes(entry) for entry in entries if _decode_entry(entry).manager in self._kept_managers
        )


@cache
def _kept_class(resource: ResourceType) -> type[Cached]:
    """What objects of a resource are kept as."""

    class Kept(Cached, frozen=True, eq=False, gc=False):
        head = _head(kind=resource.kind, apiVersion=resource.api_version)

    return Kept


def _head(**fields: str) -> bytes:
    return orjson.dumps(fields)[:-1] + b","


_TYPE = ("apiVersion", "kind")


def number(resource_version: str) -> int:
    """A resourceVersion for comparing: Kubernetes promises nothing but that newer ones are larger."""
    if resource_version.isdecimal() and resource_version.isascii() and len(resource_version) <= 20:
        return int(resource_version)
    return OPAQUE


def _is_state(cached: Cached, version: int, uid: str) -> bool:
    """Whether what is known already is this very state."""
    return version != OPAQUE and cached.resource_version == version and cached.uid == uid


def _mentions(managers: Collection[str]) -> Callable[[bytes], object]:
    """Whether managedFields may have entries of these managers: told from the bytes, where that is sure.

    Most objects have none, and their entries need not be taken apart to know.
    """
    if not managers:
        return lambda managed: False
    if not all(map(_is_never_escaped, managers)):
        return lambda managed: True
    return re.compile(b"|".join(re.escape(name.encode()) for name in managers)).search


_is_never_escaped = re.compile(r"[A-Za-z0-9._-]+").fullmatch


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: IdentityMetadata
    kind: str = ""


class _ObjectDetails(msgspec.Struct, frozen=True, gc=False):
    metadata: RelationMetadata


class _ObjectMetadata(msgspec.Struct):
    metadata: dict[str, Any]


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_details = msgspec.json.Decoder(_ObjectDetails).decode
_decode_metadata = msgspec.json.Decoder(_ObjectMetadata).decode
_decode_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_entry = msgspec.json.Decoder(FieldManager).decode
