"""Objects as caches keep them: their bytes and the little that is asked for all the time.

`Intake` makes a `Cached` of what the API sent, one decoding of the metadata each, and reduces it:
managedFields are a third of many objects and nobody but their manager reads them. The rest of an object
is decoded when somebody looks at it, anew each time, so a reader may change what it got.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
import orjson

from steersman.objects.resource_type import ResourceType, Typed
from steersman.runtime.keys import Key

__all__ = ["OPAQUE", "Cached", "Intake", "number"]

T = TypeVar("T", bound=Typed)

#: The `resource_version` of objects whose version is no number: nothing is known about their order.
OPAQUE = 0


class Cached(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One object of a cache. Immutable: a change of the object is another `Cached`."""

    key: Key
    resource_version: int
    data: bytes
    """The object's JSON, with apiVersion and kind, managedFields reduced."""

    def object(self) -> dict[str, Any]:
        """The whole object: a fresh one each time, the caller's own."""
        decoded: dict[str, Any] = orjson.loads(self.data)
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

    __slots__ = ("_kept_managers", "_metadata_only", "_resource")

    def __init__(
        self, resource: ResourceType, *, kept_managers: Collection[str] = (), metadata_only: bool = False
    ) -> None:
        """`kept_managers` names the field managers whose managedFields are kept."""
        self._resource = resource
        self._kept_managers = frozenset(kept_managers)
        self._metadata_only = metadata_only

    def read(self, data: bytes) -> Cached:
        """Raises `msgspec.DecodeError` for what is no object."""
        head = _decode_head(data)
        metadata = head.metadata
        if self._metadata_only and head.kind != self._resource.kind:
            # PartialObjectMetadata is how it came, not what it is.
            data = self._as_metadata(data)
        managed = bytes(metadata.managed_fields)
        if managed and managed != b"null":
            data = self._with_fewer_managers(data, managed)
        # A namespace is shared by many objects, so it is kept once.
        key = Key(sys.intern(metadata.namespace), metadata.name)
        return Cached(key, number(metadata.resource_version), data)

    def read_object(self, obj: Mapping[str, Any]) -> Cached:
        """The same from a decoded object, such as the answer to a write."""
        if self._metadata_only:
            obj = {"metadata": obj["metadata"]}
        whole = {"apiVersion": self._resource.api_version, "kind": self._resource.kind, **obj}
        return self.read(orjson.dumps(whole))

    def _as_metadata(self, data: bytes) -> bytes:
        resource = self._resource
        return orjson.dumps(
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": _decode_metadata(data).metadata,
            }
        )

    def _with_fewer_managers(self, data: bytes, managed: bytes) -> bytes:
        """The bytes with only the kept manager's managedFields; the rest stays as it came."""
        kept = self._kept(managed)
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
        if not self._kept_managers:
            return b""
        entries = _decode_entries(managed)
        return b",".join(
            bytes(entry) for entry in entries if _decode_entry(entry).manager in self._kept_managers
        )


def number(resource_version: str) -> int:
    """A resourceVersion for comparing: Kubernetes promises nothing but that newer ones are larger."""
    return int(resource_version) if _is_number(resource_version) else OPAQUE


_is_number = re.compile(r"[0-9]{1,20}").fullmatch


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    managed_fields: msgspec.Raw = msgspec.Raw()


class _Head(msgspec.Struct):
    metadata: _Metadata
    kind: str = ""


class _Owner(msgspec.Struct):
    uid: str = ""


class _Details(msgspec.Struct, rename="camel"):
    labels: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _ObjectDetails(msgspec.Struct):
    metadata: _Details


class _ObjectMetadata(msgspec.Struct):
    metadata: dict[str, Any]


class _Entry(msgspec.Struct):
    manager: str = ""


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_details = msgspec.json.Decoder(_ObjectDetails).decode
_decode_metadata = msgspec.json.Decoder(_ObjectMetadata).decode
_decode_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_entry = msgspec.json.Decoder(_Entry).decode
