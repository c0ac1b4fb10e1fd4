"""A custom resource in one version: objects at rest remember the version they were written in.

At rest a custom object ends with the version it was stored in, which is never shown:

    {"metadata":{"resourceVersion":"42",…},"spec":{…},"@version":"v1"}

With the conversion strategy None an object of another version is one of this with the fields that this has:
what the other's schema defaults is there, what this one's does not know is not. That holds for what is read
(`read`) and for what is stored (`to_stored`); versions of the same schema differ in name only. With a
webhook, bytes of another version are converted before the verbs see them (`shown`), and new objects before
they are stored (`at_rest`). Bytes without a mark are an object as it is shown already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import orjson

from steersman.cluster.apiserver.custom.kind import CustomKind
from steersman.cluster.apiserver.resources.handling import CUSTOM
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import decode, encode, revision_of, stamp
from steersman.cluster.apiserver.resources.strategies import Strategy
from steersman.cluster.schema.resources import ResourceType
from steersman.objects.kinds import Object
from steersman.objects.patches.apply.checking import problems_of, show_problems
from steersman.objects.patches.errors import Unconvertible
from steersman.objects.schemas import Schema

if TYPE_CHECKING:
    from steersman.cluster.apiserver.custom.conversion import WebhookConversion

__all__ = ["CustomResource"]


_MARK_KEY: Final = "@version"
_MARK: Final = b',"@version":"'
#: A version's name has at most 63 characters.
_LONGEST_MARK: Final = len(_MARK) + 63 + len(b'"}')


def _unmarked(value: bytes) -> tuple[str, bytes]:
    """The version that bytes are marked with ("" for none), and the bytes without the mark."""
    start = value.rfind(_MARK, -_LONGEST_MARK)
    if start < 0:
        return "", value
    version = value[start + len(_MARK) : -2]
    if b'"' in version or not value.endswith(b'"}'):
        return "", value
    return version.decode(), value[:start] + b"}"


class CustomResource(Resource):
    """One served version of a definition."""

    __slots__ = ("_custom", "_others", "_version", "conversion", "handover", "terminating")

    conversion: WebhookConversion | None
    handover: asyncio.Event | None
    terminating: bool

    handling = CUSTOM

    def __init__(
        self,
        resource_type: ResourceType,
        kind: CustomKind,
        strategy: Strategy,
        conversion: WebhookConversion | None,
        others: Mapping[str, CustomKind],
        warning: str = "",
    ) -> None:
        """`others` are the versions with other schemas than this, where no webhook knows them."""
        super().__init__(resource_type, kind, strategy)
        self.warning = warning
        self.conversion = conversion
        self.handover = None
        self.terminating = False
        self._custom = kind
        self._others = others
        self._version = resource_type.version

    def whole(self, value: bytes) -> bytes:
        version, bare = _unmarked(value)
        if not version or (self._is_own(version) and self._custom.is_complete(value)):
            return self.head + bare[1:]
        return orjson.dumps(self.read(value))

    item = whole

    def read(self, value: bytes) -> Object:
        """Stored bytes as an object of this version; of the one it is stored in while it waits for the
        webhook."""
        version, bare = _unmarked(value)
        shown, kind = self.type.api_version, self._custom
        other = self._others.get(version)
        if other is not None:
            kind = other
        elif version and not self._is_own(version):
            assert self.conversion is not None
            shown, kind = f"{self.group}/{version}", self.conversion.kind(version, kind)
        obj = decode(bare, shown, self.type.kind)
        if version and not kind.is_complete(value):
            kind.complete(obj)
        if other is not None:
            self._custom.prune(obj)
        return obj

    def _is_own(self, version: str) -> bool:
        return version == self._version or (self.conversion is None and version not in self._others)

    def shown(self, values: Sequence[bytes]) -> Awaitable[list[bytes]] | None:
        if self.conversion is None:
            return None
        waiting = [number for number, value in enumerate(values) if not self._is_shown(value)]
        return self._converted(self.conversion, values, waiting) if waiting else None

    def _is_shown(self, value: bytes) -> bool:
        return _unmarked(value)[0] in ("", self._version)

    async def _converted(
        self, conversion: WebhookConversion, values: Sequence[bytes], waiting: Sequence[int]
    ) -> list[bytes]:
        made = list(values)
        objects = [self.read(values[number]) for number in waiting]
        converted = await conversion.convert(objects, self._version)
        for number, obj in zip(waiting, converted, strict=True):
            value, before = encode(obj), values[number]
            has_revision = "resourceVersion" in obj["metadata"]
            made[number] = stamp(value, revision_of(before)) if has_revision else value
        return made

    def checked(self, obj: Object) -> Object:
        return obj

    def to_stored(self, obj: Object) -> Object:
        """The object with the mark; with a webhook it must be of a version that can be stored."""
        version = self.stored.version
        if self.conversion is not None:
            version = obj["apiVersion"].rpartition("/")[2]
        elif (kind := self._others.get(version)) is not None:
            obj = orjson.loads(orjson.dumps(obj))
            kind.prune(obj)
            kind.complete(obj)
        return {**obj, _MARK_KEY: version}

    async def encoded(self, obj: Object) -> bytes:
        if self.conversion is not None and self.stored.version != self._version:
            [obj] = await self.conversion.convert([obj], self.stored.version)
        if self.handover is not None:
            await self.wait_for_handover()
        return encode(self.to_stored(obj))

    def as_version_of(self, obj: Object, target: Resource) -> tuple[Object, Schema] | None:
        """Without a webhook an object of another version is the same one under another name."""
        schema = target.kind.schema
        if target is not self:
            obj = {**obj, "apiVersion": target.type.api_version}
            if problems := problems_of(obj, schema):
                raise Unconvertible(show_problems(problems))
        return obj, schema

    def begin_handover(self) -> None:
        """The definition changed: nothing is begun or stored until it is known what that means for this."""
        if self.handover is None:
            self.handover = asyncio.Event()

    def confirm(self) -> None:
        """It is what is to be served."""
        if self.handover is not None:
            self.handover.set()
            self.handover = None

    def retire(self) -> None:
        """Others are served from now on, or none."""
        self.begin_handover()
        assert self.handover is not None
        self.handover.set()

    def is_current(self, value: bytes) -> bool:
        return _unmarked(value)[0] in ("", self.stored.version)
