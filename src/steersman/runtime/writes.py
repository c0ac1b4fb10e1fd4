"""Writes whose result the writer sees at once: the API is asked, the answer goes into the cache.

A controller that reads from caches and writes through this never acts on a state older than its own last
write, and is not woken by its own changes. Resources without a cache are written all the same.

Right before each write the writer's leadership is asked for: one that lost it, or slept through its end,
writes nothing more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, TypeVar, cast

from steersman.client import Client, NotFound
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.runtime.cache import Cache
from steersman.runtime.journal import note_write
from steersman.runtime.keys import Key

__all__ = ["Writes", "is_gone"]

T = TypeVar("T", bound=Mapping[str, Any])
Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Writes:
    """What one writer (a controller, by its name) changes. `cache_of` gives the caches it reads.

    `check` raises when the writer must not write any more (`LeadershipLost`).
    """

    def __init__(
        self,
        client: Client,
        writer: str,
        cache_of: Callable[[ResourceType], Cache | None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.client = client
        self._writer = writer
        self._cache_of = cache_of
        self._check = check

    async def create(self, resource: ResourceType, obj: T) -> T:
        """Make an object, and return it as the API stored it. Raises `AlreadyExists`, …"""
        metadata = obj["metadata"]
        stored = await self._written(
            "create",
            resource,
            Key(metadata.get("namespace") or "", metadata["name"]) if metadata.get("name") else None,
            lambda: self.client.create(obj, kind=resource),
        )
        return cast("T", stored)

    async def replace(self, resource: ResourceType, obj: T, *, subresource: str = "") -> T:
        """Put an object in the place of the version it was made from. Raises `Conflict`."""
        stored = await self._written(
            "update",
            resource,
            Key.of(obj),
            lambda: self.client.replace(obj, kind=resource, subresource=subresource),
            subresource,
        )
        return cast("T", stored)

    async def patch(
        self,
        resource: ResourceType,
        key: Key,
        patch: Patch,
        *,
        type: Literal["merge", "json", "strategic"] = "merge",  # noqa: A002 - the client's word
        subresource: str = "",
    ) -> Object:
        """Change part of an object."""
        return await self._written(
            "patch",
            resource,
            key,
            lambda: self.client.patch(
                resource, key.name, patch, key.namespace or None, type=type, subresource=subresource
            ),
            subresource,
        )

    async def apply(self, resource: ResourceType, config: Mapping[str, Any], *, field_manager: str) -> Object:
        """Server-side apply, taking fields over from others."""
        return await self._written(
            "apply",
            resource,
            Key.of(config),
            lambda: self.client.apply(config, field_manager=field_manager, force=True, kind=resource),
        )

    async def delete(
        self,
        resource: ResourceType,
        key: Key,
        uid: str | None,
        *,
        propagation: Literal["Foreground", "Background", "Orphan"] | None = "Background",
        grace_s: int | None = None,
        resource_version: str | None = None,
    ) -> Object | None:
        """Have an object deleted, if it is still this one (`uid`), in this state (`resource_version`).

        What remains of it; None if it is gone. Raises `Conflict`.
        """
        cache = self._cache_of(resource)
        self._check()
        with self._bracket(cache, key):
            try:
                remaining = await self.client.delete(
                    resource,
                    key.name,
                    key.namespace or None,
                    propagation=propagation,
                    uid=uid,
                    resource_version=resource_version,
                    grace_s=grace_s,
                )
            except NotFound:
                remaining = None
            else:
                note_write("delete", resource, key)
            if cache is not None and remaining is not None:
                cache.wrote(remaining, self._writer)
            elif cache is not None and uid is not None:
                cache.removed(key, uid, self._writer)
        return remaining

    async def _written(
        self,
        verb: str,
        resource: ResourceType,
        key: Key | None,
        write: Callable[[], Awaitable[Object]],
        subresource: str = "",
    ) -> Object:
        cache = self._cache_of(resource)
        self._check()
        with self._bracket(cache, key):
            answer = await write()
            note_write(verb, resource, key, subresource)
            if cache is None:
                return answer
            if is_gone(answer):
                cache.removed(Key.of(answer), answer["metadata"]["uid"], self._writer)
            else:
                cache.wrote(answer, self._writer)
        return answer

    def _bracket(self, cache: Cache | None, key: Key | None) -> AbstractContextManager[None]:
        """A watch that is faster than the answer tells the writer nothing new; of an object whose name the
        API makes up, it may."""
        return nullcontext() if cache is None or key is None else cache.writing(key, self._writer)


def is_gone(answer: Mapping[str, Any]) -> bool:
    """Whether a write was the last that kept a deleted object: the API answers with it all the same."""
    metadata = answer["metadata"]
    held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    if answer.get("kind") == "Namespace":
        held = held or (answer.get("spec") or {}).get("finalizers")
    return "deletionTimestamp" in metadata and not held
