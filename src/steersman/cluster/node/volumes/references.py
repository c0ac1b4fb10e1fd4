"""The ConfigMaps, Secrets and other objects that pods of this node reference, each watched while a pod needs
it.

A node may read only what its pods use, so each object has an informer of its own, shared by the pods that
reference it. Immutable objects are not watched once they are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from steersman.aio import Clock
from steersman.client import Client
from steersman.cluster.node.timers import Starter
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.runtime import Change, Informer
from steersman.runtime.follower import Selection

__all__ = ["NotRead", "ObjectReference", "References"]


#: How long to wait for an object that is asked for the first time.
_PATIENCE_S: Final = 5.0


class NotRead(Exception):
    """The object has not been read yet."""


class ObjectReference(NamedTuple):
    """A set of objects: resource, namespace and field selector."""

    kind: ResourceType
    namespace: str
    fields: str

    @classmethod
    def to(cls, kind: ResourceType, namespace: str, name: str) -> ObjectReference:
        return cls(kind, namespace, f"metadata.name={name}")


class _Followed:
    """A watched object and the pods that reference it."""

    __slots__ = ("holders", "informer", "task")

    def __init__(self, informer: Informer, task: asyncio.Task[None]) -> None:
        self.informer = informer
        self.task = task
        #: The pods that need it.
        self.holders: set[str] = set()


class References:
    """The watched objects."""

    def __init__(self, client: Client, clock: Clock, start: Starter, changed: Callable[[str], None]) -> None:
        """`changed` is told the uid of every pod that refers to something that has changed."""
        self._client = client
        self._clock = clock
        self._start = start
        self._changed = changed
        self._followed: dict[ObjectReference, _Followed] = {}
        self._held: dict[str, frozenset[ObjectReference]] = {}

    def __len__(self) -> int:
        """How many are looked at."""
        return len(self._followed)

    def hold(self, uid: str, wanted: Iterable[ObjectReference]) -> None:
        """A pod needs these, and nothing else any more."""
        held, wanted = self._held.get(uid, frozenset()), frozenset(wanted)
        for reference in wanted - held:
            if reference not in self._followed:
                self._followed[reference] = self._follow(reference)
            self._followed[reference].holders.add(uid)
        for reference in held - wanted:
            followed = self._followed[reference]
            followed.holders.discard(uid)
            if not followed.holders:
                followed.task.cancel()
                del self._followed[reference]
        if wanted:
            self._held[uid] = wanted
        else:
            self._held.pop(uid, None)

    def release(self, uid: str) -> None:
        self.hold(uid, ())

    async def all(self, reference: ObjectReference) -> list[Object]:
        """What a reference that is held leads to. Raises `NotRead`."""
        informer = self._followed[reference].informer
        if not informer.synced:
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await informer.wait_synced()
            except TimeoutError as error:
                noun = reference.kind.kind.lower()
                raise NotRead(f"failed to sync {noun} cache: timed out waiting for the condition") from error
        return [cached.object() for cached in informer.cache]

    async def one(self, reference: ObjectReference) -> Object | None:
        return next(iter(await self.all(reference)), None)

    def _follow(self, reference: ObjectReference) -> _Followed:
        namespaces = (reference.namespace,) if reference.kind.namespaced else None
        selection = Selection(reference.kind, fields=reference.fields)
        informer = Informer(self._client, self._clock, selection, namespaces=namespaces, resync_s=0)
        informer.add_handler(lambda change: self._on_change(reference, change))
        return _Followed(informer, self._start(informer.run()))

    def _on_change(self, reference: ObjectReference, change: Change) -> None:
        followed = self._followed.get(reference)
        if followed is None:
            return
        if change.new is not None and change.new.object().get("immutable"):
            followed.task.cancel()
        if not change.initial:
            # Whoever asked first waits for the beginning anyway.
            for uid in tuple(followed.holders):
                self._changed(uid)
