"""Lists: pages as the API sends them, their objects cut out without being decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import msgspec
import orjson

from steersman.client.errors import Unreachable
from steersman.objects.resource_type import ResourceType

__all__ = ["Listed", "Page", "read_page"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list. `continue_token` asks for the next one; it is empty on the last."""

    items: list[bytes]
    """The JSON of each object, with apiVersion and kind."""
    resource_version: str
    continue_token: str
    remaining: int | None = None
    """How many objects follow, where the API knows."""


class Listed(Sequence[T], Generic[T]):
    """The objects of a list and the revision they are of, from which a watch goes on."""

    __slots__ = ("_items", "resource_version")

    def __init__(self, items: list[T], resource_version: str) -> None:
        self._items = items
        self.resource_version = resource_version

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Listed({self._items!r}, resource_version={self.resource_version!r})"


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class _List(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    items: list[msgspec.Raw] | None = None


class _TypeMeta(msgspec.Struct):
    kind: str = ""


_decode = msgspec.json.Decoder(_List).decode
_decode_type = msgspec.json.Decoder(_TypeMeta).decode
#: How objects begin that say first what they are.
_TYPED = (b'{"kind"', b'{"apiVersion"')
#: Objects in lists of built-in kinds do not say what they are, and begin like this.
_UNTYPED = b'{"metadata"'


def read_page(content: bytes, resource: ResourceType) -> Page:
    """Cut an answer into its objects."""
    try:
        decoded = _decode(content)
        head = type_head(resource)
        items = [_whole(bytes(item), head) for item in decoded.items or ()]
    except msgspec.DecodeError as error:
        raise Unreachable(f"the response is not a list of {resource}: {error}", maybe_done=False) from error
    metadata = decoded.metadata
    return Page(
        items,
        metadata.resource_version,
        metadata.continue_,
        metadata.remaining_item_count,
    )


def type_head(resource: ResourceType) -> bytes:
    """The beginning of an object that lacks its apiVersion and kind."""
    fields: dict[str, Any] = {"apiVersion": resource.api_version, "kind": resource.kind}
    return orjson.dumps(fields)[:-1] + b","


def _whole(item: bytes, head: bytes) -> bytes:
    if item.startswith(_UNTYPED) or not (item.startswith(_TYPED) or _decode_type(item).kind):
        return head + item[1:] if item != b"{}" else head[:-1] + b"}"
    return item
